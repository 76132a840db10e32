# The toolkit in a container, installed from its Debian packages:
#   docker build -t legacy .
#   docker run --rm -it legacy legacy-scenario --topo=fat-tree
FROM debian:12 AS packages

WORKDIR /legacy
# Packages first: this layer stays while only sources change.
COPY waf CMakePresets.json ./
COPY cmake cmake
RUN ./waf packages && rm -rf /var/lib/apt/lists/*
COPY . .
RUN ./waf deb

FROM debian:12

COPY --from=packages /legacy/build/deb/*.deb /packages/
RUN apt-get update && apt-get install -y /packages/*.deb && rm -rf /packages /var/lib/apt/lists/*
WORKDIR /work
CMD ["legacy-scenario", "--help"]
