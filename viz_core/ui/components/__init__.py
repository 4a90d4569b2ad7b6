"""Streamlit components: the Python, script and style of each. They are independent of setups, links and runs."""
