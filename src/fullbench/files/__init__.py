"""Reading and writing of files: rows, pictures and folders."""
