# What tools/dist and tools/boards share: the machines that Foliot is published for, and how to build
# for them. To be sourced at the root of the repository.
#
# Needs Rust from rustup, and Python 3 with venv. The C compiler for the foreign machines is Zig's, from
# PyPI, as is what has Cargo use it; the linker is Rust's own.

zig_version=0.15.2
zigbuild_version=0.24.1

# Machine, Rust's target, Debian's name. Debian's armhf is ARMv7; the Pi 1 and Zero are ARMv6.
machines="x86_64-linux x86_64-unknown-linux-musl amd64
aarch64-linux aarch64-unknown-linux-musl arm64
armv7-linux armv7-unknown-linux-musleabihf armhf
armv6-linux arm-unknown-linux-musleabihf -
i686-linux i686-unknown-linux-musl i386"

# known_machines PROGRAM NAME...: ends a program that was given another name.
known_machines() {
    local program=$1 name
    shift
    for name in "$@"; do
        grep -q "^$name " <<<"$machines" || {
            echo "$program: no machine is called $name; there are: $(cut -d' ' -f1 <<<"$machines" | xargs)" >&2
            exit 2
        }
    done
}

# machine_tools: gets Zig and cargo-zigbuild into a folder of their own, $tools.
machine_tools() {
    tools=$PWD/target/dist-tools
    mkdir -p "$tools"
    [ -x "$tools/python/bin/python" ] || python3 -m venv "$tools/python"
    "$tools/python/bin/pip" install -q --disable-pip-version-check "ziglang==$zig_version" "cargo-zigbuild==$zigbuild_version"
    export PATH=$tools/python/bin:$tools/bin:$PATH

    # No path of the building machine gets into the program, neither from Rust nor from C.
    local sysroot cargo_home=${CARGO_HOME:-$HOME/.cargo}
    sysroot=$(rustc --print sysroot)
    export RUSTFLAGS="--remap-path-prefix=$PWD=/foliot --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$sysroot=/rust"
    export CFLAGS="-ffile-prefix-map=$PWD=/foliot -ffile-prefix-map=$cargo_home=/cargo"

    # Level 1 is the only one that Foliot packs at, and its strategy is the first of Zstandard's. The others
    # are 0.3 MB that nothing calls, and frames come out the same without them.
    local strategy
    for strategy in DFAST GREEDY LAZY LAZY2 BTLAZY2 BTOPT BTULTRA; do
        CFLAGS+=" -DZSTD_EXCLUDE_${strategy}_BLOCK_COMPRESSOR"
    done
}

# natively COMMAND...: for this machine, as everybody builds.
natively() { env -u RUSTFLAGS -u CFLAGS -u RUSTC_BOOTSTRAP "$@"; }

# zig_cargo TARGET VERB FLAG...: `cargo VERB` for a target. Where its standard library cannot be had ready,
# that is built from its source, and Zig links it with its own C library.
zig_cargo() {
    local target=$1 verb=$2 std=() flags=$RUSTFLAGS
    shift 2
    if rustup -q target add "$target" >/dev/null 2>&1; then
        # Zig's linker takes neither: addresses to be moved as a list of bits, and functions that came
        # to the same once. Both cost no time, and what they spare is told in docs/guides/install.md.
        flags+=" -C linker=rust-lld -C link-arg=--pack-dyn-relocs=relr -C link-arg=--icf=all"
    else
        rustup -q component add rust-src
        # Rust would name files that start a C program as if they came with its library, but none came.
        # Zig has its own.
        flags+=" -C link-self-contained=no"
        std=(-Z "build-std=std,panic_unwind")
    fi
    # Only what is built from source may do what stable Rust may not.
    env RUSTFLAGS="$flags" ${std[0]:+RUSTC_BOOTSTRAP=1} cargo-zigbuild "$verb" --locked --target "$target" "${std[@]}" "$@"
}
