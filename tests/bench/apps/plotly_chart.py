"""The same three charts by st.plotly_chart."""

import streamlit as st

from sdpa.parameters import TEMPERATURE
from sdpa.ui.controls import control
from sdpa.views import VIEWS

st.set_page_config(layout="wide")
temperature = control(TEMPERATURE)
for name in ("temperature.weights", "gradients.jacobian", "gradients.pointing"):
    view = VIEWS[name](temperature=temperature)
    st.plotly_chart(view.figure, key=name, height=340, theme=None)
    st.write(view.caption)
