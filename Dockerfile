# syntax=docker/dockerfile:1
# scheduler serve, as static binaries on an image without a shell: scheduler, and scheduler-temporal, which it
# starts for runs on Temporal. State and flows are in the volume /project:
#   docker build -t scheduler .
#   docker run -p 127.0.0.1:8050:8050 -v "$PWD/my-app:/project" scheduler
# The user of the image has the number 65532; a mounted folder must belong to it, or add --user "$(id -u):$(id -g)".
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
ARG TARGETOS TARGETARCH VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
COPY scheduler/temporal/go.mod scheduler/temporal/go.sum scheduler/temporal/
COPY cmd/scheduler-temporal/go.mod cmd/scheduler-temporal/go.sum cmd/scheduler-temporal/
RUN go mod download && go -C cmd/scheduler-temporal mod download
COPY . .
RUN export CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH && \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/scheduler ./cmd/scheduler && \
    go -C cmd/scheduler-temporal build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/scheduler-temporal .
# An empty project that belongs to the user of the image: Docker copies it into a new volume.
RUN mkdir -p /out/project/flows && touch /out/project/scheduler.yaml

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/scheduler /out/scheduler-temporal /usr/local/bin/
COPY --from=build --chown=65532:65532 /out/project /project
WORKDIR /project
VOLUME /project
EXPOSE 8050
# Inside the container every address is reached through the port that Docker publishes.
ENV SCHEDULER_SERVE_LISTEN=0.0.0.0:8050
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["scheduler", "serve", "--probe"]
ENTRYPOINT ["scheduler"]
CMD ["serve"]
