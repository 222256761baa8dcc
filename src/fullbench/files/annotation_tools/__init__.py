"""Read and write labels of Label Studio and Argilla."""
