"""What a page declares about itself: `PageSpec`, and `UrlParam`, one parameter of its links.

Each page has one `PageSpec`, in the module `declaration` of its package in `viz_core.ui.pages`. The declarations stand below the
shell, which makes the navigation, the links and the headings from them, so they import no Streamlit and nothing of their page.
"""
