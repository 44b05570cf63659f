"""The lesson: run it with ``streamlit run app.py``."""

from sdpa.ui import frame

frame.run()
