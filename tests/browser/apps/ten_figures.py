"""Ten figures on one slider, one of them in a closed expander and one behind a tab."""

import streamlit as st

from sdpa.parameters import D_K
from sdpa.ui.controls import control
from sdpa.ui.live_figure import show
from sdpa.views import VIEWS

NAMES = [name for name, spec in VIEWS.items() if "d_k" in spec.swept][:10]

st.set_page_config(layout="wide")
d_k = control(D_K)
views = [VIEWS[name](d_k=d_k) for name in NAMES]
here, behind = st.tabs(["Eight", "One"])
with here:
    for view in views[:8]:
        show(view)
with behind:
    show(views[8])
with st.expander("Closed"):
    show(views[9])
