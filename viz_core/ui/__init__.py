"""The app in Streamlit: `components` draw, the `shell` stands around every page, and `pages` has what each of them shows."""
