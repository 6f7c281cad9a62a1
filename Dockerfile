# Nothing but the program of `make release`, what it consists of, and the licences of that: no shell, no library, no
# package to keep up to date. No authorities either: it talks to an API server only, whose authority it is given.
# `make image` builds it, from a folder that holds these three files; nothing is pulled and nothing is run.
FROM scratch
ARG VERSION
ARG REVISION
ARG CREATED
LABEL org.opencontainers.image.title="jobshape" \
      org.opencontainers.image.description="A cluster runs exactly the Jobs that were committed, and nothing else." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
COPY jobshape jobshape.cdx.json licenses.txt /
# Somebody who owns nothing on any node, and a number: the kubelet cannot see of a name that it is not root.
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["/jobshape"]
