# Sourced by tools/quickstart and tools/check: install what is missing, saying what. Debian's package names.

# shellcheck disable=SC2034 # for those that source it
build_packages="gcc libc6-dev cmake ninja-build pkg-config libzmq3-dev liblz4-dev libsnappy-dev libzstd-dev libbrotli-dev zlib1g-dev libbz2-dev libnuma-dev libxxhash-dev
libprotobuf-c-dev protobuf-c-compiler libsqlite3-dev libjansson-dev libopenblas-dev libpcre2-dev libpg-query-dev libseccomp-dev libedit-dev
libmicrohttpd-dev libpython3-dev python3-minimal python3-numpy tzdata"
# What each tier of tools/check needs beside those of the tiers before it.
# shellcheck disable=SC2034
check_packages="clang-format libcmocka-dev liblmdb-dev strace git python3-pandas python3-cloudpickle python3-distributed faketime e2fsprogs xfsprogs tmux"
# shellcheck disable=SC2034
all_packages="mypy abigail-tools clang libclang-rt-14-dev spin python3-joblib python3-dask slurmctld slurmd slurm-client iproute2 less"
# shellcheck disable=SC2034
release_packages="qemu-system-x86 busybox-static cpio python3-dbg python3-nbconvert python3-ipykernel chromium chromium-driver python3-selenium prometheus openssh-server"

# What tools/package needs beside the Build-Depends of tools/packaging/debian/control, and what its --check needs.
# shellcheck disable=SC2034
package_packages="git dpkg-dev debhelper dh-python fakeroot"
# shellcheck disable=SC2034
package_check_packages="lintian mmdebstrap piuparts qemu-system-x86 cpio zsh man-db"

# shellcheck disable=SC2034
differ_packages="python3-minimal python3-numpy python3-pandas postgresql-15 python3-psycopg2"

# install_packages NAME...: does nothing when all are there; else as root or through sudo; else says what to ask for.
install_packages() {
    local missing="" name as_root=""
    for name in "$@"; do
        dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q "ok installed" || missing="$missing $name"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "These packages are missing:$missing" >&2
            echo "Ask someone with root to run: apt-get install$missing" >&2
            return 1
        fi
        as_root=sudo
    fi
    if ! command -v apt-get >/dev/null; then
        echo "This machine has no apt-get. Install what stands for these Debian packages:$missing" >&2
        return 1
    fi
    echo "Installing:$missing"
    $as_root apt-get update -qq
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# install_peers DIRECTORY: DuckDB, apache-arrow, Polars and parquet-wasm for JavaScript, with which some tests compare, and axe-core, which judges the page; they look in $GRANARY_PEERS.
# Where npm cannot reach its registry, those tests are skipped, and this says so.
install_peers() {
    [ ! -d "$1/node_modules/@duckdb/node-api" ] || [ ! -d "$1/node_modules/apache-arrow" ] ||
        [ ! -d "$1/node_modules/nodejs-polars" ] || [ ! -d "$1/node_modules/parquet-wasm" ] ||
        [ ! -d "$1/node_modules/axe-core" ] || return 0
    # A node that is there already (of another source than Debian's) brings its own npm.
    command -v npm >/dev/null || install_packages nodejs npm
    echo "Installing with npm: @duckdb/node-api apache-arrow nodejs-polars parquet-wasm axe-core"
    npm install --silent --no-audit --no-fund --prefix "$1" @duckdb/node-api apache-arrow >"$1.log" 2>&1 ||
        echo "npm could not install them ($1.log says why): golden_arrow_js and sql_tpch_duckdb are skipped"
    # Its part for this machine is an optional package, which npm leaves out when it thinks that node is too old for it.
    npm install --silent --no-audit --no-fund --prefix "$1" nodejs-polars "nodejs-polars-linux-$(node -p process.arch)-gnu" >>"$1.log" 2>&1 ||
        echo "npm could not install nodejs-polars ($1.log says why): golden_polars is skipped"
    npm install --silent --no-audit --no-fund --prefix "$1" parquet-wasm >>"$1.log" 2>&1 ||
        echo "npm could not install parquet-wasm ($1.log says why): golden_parquet_written goes on without"
    npm install --silent --no-audit --no-fund --prefix "$1" axe-core >>"$1.log" 2>&1 ||
        echo "npm could not install axe-core ($1.log says why): web_browser goes on without"
}
