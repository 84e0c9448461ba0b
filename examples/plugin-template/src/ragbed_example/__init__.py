"""A template for ragbed plug-ins: copy it and replace its parts."""
