# The image of `throughline serve`: no shell, no package manager, no root, nothing that is written to. What it serves is an agent's module,
# mounted at /agent or built on top (deploy/example-agent).
#
# Pin both images by digest where you build for others: --build-arg NODE_IMAGE=node:24-slim@sha256:… (docs/operations.md, The image).
ARG NODE_IMAGE=node:24-slim
ARG RUN_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /throughline
COPY package.json package-lock.json .npmrc ./
# Without the scripts of packages: none of what is run needs one.
RUN npm ci --omit=dev --ignore-scripts

FROM ${NODE_IMAGE} AS build
WORKDIR /throughline
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY gen gen
COPY src src
RUN npm run build

FROM ${RUN_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="throughline" \
      org.opencontainers.image.description="A durable A2A 1.0 service: one ordered log per task, over gRPC, Connect, gRPC-Web, HTTP+JSON and JSON-RPC" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV NODE_ENV=production \
    THROUGHLINE_HOST=0.0.0.0
# At the root, so that an agent's module finds it by its name wherever it is mounted.
WORKDIR /node_modules/throughline
COPY --from=dependencies /throughline/node_modules node_modules
COPY --from=build /throughline/dist dist
COPY bin bin
COPY proto proto
COPY package.json LICENSE ./
WORKDIR /agent
# By number: Kubernetes cannot tell of a name that it is not root.
USER 65532:65532
EXPOSE 50051 8080 9464
# Short collections of what dies young, few of the rest, and one helper for them, which leaves calls their share of a single CPU (docs/security.md, Limits).
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=8", "--v8-pool-size=1", "/node_modules/throughline/bin/throughline.js", "serve"]
CMD ["/agent/agent.js"]
