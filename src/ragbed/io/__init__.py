"""Read and write file formats, and download files."""
