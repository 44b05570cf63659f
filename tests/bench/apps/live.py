"""Three charts on one slider, as the lesson draws them."""

import streamlit as st

from sdpa.parameters import TEMPERATURE
from sdpa.ui.controls import control
from sdpa.ui.live_figure import show
from sdpa.views import VIEWS

st.set_page_config(layout="wide")
temperature = control(TEMPERATURE)
for name in ("temperature.weights", "gradients.jacobian", "gradients.pointing"):
    show(VIEWS[name](temperature=temperature))
