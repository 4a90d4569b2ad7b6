"""What pages are built from: the only room besides the pages that imports Streamlit."""
