"""Tables and figures: the leaves of the workflow, made from the stages' frames."""
