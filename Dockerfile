# Two images from one file:  docker build --target sidecar|operator .
# Everything is installed from requirements/*.txt with its hashes checked. Without a network, `make wheels` first: what lies in
# build/wheels is then all that pip looks at.
#
# An image is two layers: Python's runtime as scripts/image_runtime.py gathers it from PYTHON_IMAGE, the same for both, and
# /opt/switchyard. Bytecode is compiled here, since nothing can be written where it runs, and not checked against its source's time:
# with all times set to SOURCE_DATE_EPOCH, the same sources give the same layers. (Whole roots are copied, since a folder that COPY makes
# on the way has the time of the build; and pip, which runs in the environment that it fills, leaves bytecode of its own there.)
ARG PYTHON_IMAGE=python:3.11-slim

FROM ${PYTHON_IMAGE} AS runtime
COPY scripts/image_runtime.py /src/
RUN python3 /src/image_runtime.py /image \
 && python3 -m compileall -q -s /image --invalidation-mode unchecked-hash /image/usr
ARG SOURCE_DATE_EPOCH=0
RUN find /image -exec touch --no-dereference --date=@${SOURCE_DATE_EPOCH} {} +

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
 && /builder/bin/pip --python /opt/switchyard/bin/python install --quiet --no-compile --require-hashes -r requirements/sidecar.txt \
 && /builder/bin/pip --python /opt/switchyard/bin/python install --quiet --no-compile --no-deps /dist/*.whl \
 && python3 -m compileall -qf --invalidation-mode unchecked-hash /opt/switchyard \
 && mkdir -p /image/opt && mv /opt/switchyard /image/opt
ARG SOURCE_DATE_EPOCH=0
RUN find /image -exec touch --no-dereference --date=@${SOURCE_DATE_EPOCH} {} +

FROM scratch AS base
ENV PATH=/opt/switchyard/bin LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=runtime /image /
USER 65532:65532

FROM base AS sidecar
COPY --from=sidecar-files /image /
ENTRYPOINT ["/opt/switchyard/bin/switchyard-sidecar"]

FROM build AS operator-files
COPY requirements/operator.txt requirements/
RUN python3 -m venv --without-pip /opt/switchyard \
 && /builder/bin/pip --python /opt/switchyard/bin/python install --quiet --no-compile --require-hashes -r requirements/operator.txt \
 && /builder/bin/pip --python /opt/switchyard/bin/python install --quiet --no-compile --no-deps /dist/*.whl \
 && python3 -m compileall -qf --invalidation-mode unchecked-hash /opt/switchyard \
 && mkdir -p /image/opt && mv /opt/switchyard /image/opt
ARG SOURCE_DATE_EPOCH=0
RUN find /image -exec touch --no-dereference --date=@${SOURCE_DATE_EPOCH} {} +

FROM base AS operator
COPY --from=operator-files /image /
ENTRYPOINT ["/opt/switchyard/bin/switchyard-operator"]
