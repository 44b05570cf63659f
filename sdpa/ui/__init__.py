"""Streamlit: the page table, controls from parameters, figures from views."""
