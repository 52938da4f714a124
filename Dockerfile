# Two images from one file:  docker build --target sidecar|operator .
# Everything is installed from requirements/*.txt with its hashes checked. Without a network, `make wheels` first: what lies in
# build/wheels is then all that pip looks at.
ARG PYTHON_IMAGE=python:3.11-slim

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# The first name stands for "always there": a pattern that matches nothing would be an error.
COPY requirements/build.txt build/wheel[s] /wheels/
RUN python3 -m venv /builder \
 && if ls /wheels/*.whl > /dev/null 2>&1; then printf '[global]\nno-index = true\nfind-links = /wheels\n' > /etc/pip.conf; fi \
 && /builder/bin/pip install --quiet --require-hashes -r /wheels/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY sidecar sidecar
COPY operator operator
RUN /builder/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /dist .

FROM build AS sidecar-files
COPY requirements/sidecar.txt requirements/
RUN python3 -m venv --without-pip /opt/switchyard \
 && /builder/bin/pip --python /opt/switchyard/bin/python install --quiet --require-hashes -r requirements/sidecar.txt \
 && /builder/bin/pip --python /opt/switchyard/bin/python install --quiet --no-deps /dist/*.whl

FROM build AS operator-files
COPY requirements/operator.txt requirements/
RUN python3 -m venv --without-pip /opt/switchyard \
 && /builder/bin/pip --python /opt/switchyard/bin/python install --quiet --require-hashes -r requirements/operator.txt \
 && /builder/bin/pip --python /opt/switchyard/bin/python install --quiet --no-deps /dist/*.whl

FROM ${PYTHON_IMAGE} AS operator
ENV PATH=/opt/switchyard/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=operator-files /opt/switchyard /opt/switchyard
USER 65532:65532
ENTRYPOINT ["/opt/switchyard/bin/switchyard-operator"]

FROM ${PYTHON_IMAGE} AS sidecar
ENV PATH=/opt/switchyard/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=sidecar-files /opt/switchyard /opt/switchyard
USER 65532:65532
ENTRYPOINT ["/opt/switchyard/bin/switchyard-sidecar"]
