"""A plug-in for ragbed: copy it and replace its parts."""
