# syntax=docker/dockerfile:1
# scheduler serve, as static binaries on an image without a shell: scheduler, and scheduler-temporal, which it
# starts for runs on Temporal. It copies the programs of a release's archive, and compiles nothing. State and
# flows are in the volume /project:
#   make release-snapshot             # or put the archive of a release into bin/dist
#   docker build -t scheduler .
#   docker run -p 127.0.0.1:8050:8050 -v "$PWD/my-app:/project" scheduler
# The user of the image has the number 65532; a mounted folder must belong to it, or add --user "$(id -u):$(id -g)".
FROM scratch AS release
ARG TARGETARCH
# ADD unpacks an archive.
ADD bin/dist/scheduler_*_linux_${TARGETARCH}.tar.gz /

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=release /scheduler /scheduler-temporal /usr/local/bin/
COPY --chown=65532:65532 configs/image /project
WORKDIR /project
VOLUME /project
EXPOSE 8050
# Inside the container every address is reached through the port that Docker publishes.
ENV SCHEDULER_SERVE_LISTEN=0.0.0.0:8050
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["scheduler", "serve", "--probe"]
ENTRYPOINT ["scheduler"]
CMD ["serve"]
