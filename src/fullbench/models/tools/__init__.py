"""Tools that look at a picture and take notes: what stands in it, what is written in it, which colours it has."""
