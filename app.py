"""The lesson: run it with ``streamlit run app.py``."""

from functools import partial

from sdpa.export.page import SLOT, page
from sdpa.ui import frame

frame.run(page_of=partial(page, plotly=SLOT))
