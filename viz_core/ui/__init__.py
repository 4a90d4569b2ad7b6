"""The Streamlit app: `components` draw figures, `shell` is the frame of every page, and `pages` holds the content of each page."""
