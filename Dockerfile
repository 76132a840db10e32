# The toolkit in a container, built by the same commands as anywhere else:
#   docker build -t legacy .
#   docker run --rm -it legacy ./waf --run legacy-scenario --topo=fat-tree
FROM debian:12

WORKDIR /legacy
# Packages first: this layer stays while only sources change.
COPY waf CMakePresets.json ./
COPY cmake cmake
RUN ./waf packages && rm -rf /var/lib/apt/lists/*

COPY . .
RUN ./waf build
CMD ["./waf", "--help"]
