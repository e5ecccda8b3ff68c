#!/usr/bin/env bash
# Installs what Vitrine needs, builds it, and classifies a picture that ships with it (--test: runs all tests instead).
# Safe to run again: it installs, fetches and compiles only what is missing. See --help.
set -eEuo pipefail
trap 'printf "setup.sh: stopped at line %s (%s)\n" "$LINENO" "$BASH_COMMAND" >&2' ERR

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
readonly ROOT
readonly PICTURE="data/images/fashion-mnist/0000-ankle-boot.png"

# Package, and the oldest version that will do (- : any). Those below "tests" are installed only with --test.
readonly PACKAGES="
  g++ 4:12            cmake 3.25           ninja-build -        ccache -             pkgconf -
  libopencv-dev 4.6   libpng-dev -         libjpeg-dev -        libgif-dev 5         libwebp-dev 1
  libtiff-dev -       libonnx-dev 1.12     libprotobuf-dev 3.21 protobuf-compiler -  libcli11-dev 2
  nlohmann-json3-dev 3.11                  libfmt-dev 9         libzip-dev 1.7       libarchive-dev 3.4
  libcurl4-openssl-dev 7.85                libssl-dev 3"
readonly TEST_PACKAGES="
  libgtest-dev 1.12   libgmock-dev 1.12    libbenchmark-dev -   python3 -            python3-numpy -
  python3-venv -      parallel -"

# oneDNN: from the system where that is at least ONEDNN_MINIMUM; else Intel's build for GNU OpenMP, as Python wheels.
readonly ONEDNN_MINIMUM=3.2
readonly WHEEL_VERSION=2023.2.0   # holds oneDNN 3.2
readonly WHEELS="
  onednn-cpu-gomp       2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb
  onednn-devel-cpu-gomp 9763c69e8c907e119056bd52ad918ca84ac9ba939d130a99dfa95ccca3e5e284"

# Free space asked for before anything is written, in MB (measured on Debian 12 and 13, and some to spare).
readonly PACKAGES_MB=2500   # from a bare system
readonly FEW_PACKAGES_MB=300
readonly BUILD_MB=1000

say()  { printf '==> %s\n' "$*"; }
fail() { printf 'setup.sh: %s\n' "$*" >&2; exit 1; }

usage() {
    cat <<TEXT
usage: ./setup.sh [--test] [--preset NAME] [--no-packages]

  (nothing)        install packages, build into build/, classify $PICTURE
  --test           the same with the test packages, then run every test
  --preset NAME    build (and test) another preset of CMakePresets.json: dev, asan, tsan, coverage
  --no-packages    do not install anything with apt; what is needed is already there
  -h, --help       this text

Runs as root or as a user who may use sudo. Debian 12 and 13, Ubuntu 24.04 and later.
TEXT
}

# ------------------------------------------------------------------------------------------------ arguments
with_tests=no
preset=release
with_packages=yes

parse_arguments() {
    while (($#)); do
        case $1 in
            --test) with_tests=yes ;;
            --preset) (($# > 1)) || fail "--preset needs a name (see --help)"; preset=$2; shift ;;
            --preset=*) preset=${1#*=} ;;
            --no-packages) with_packages=no ;;
            -h | --help) usage; exit 0 ;;
            *) usage >&2; exit 2 ;;
        esac
        shift
    done
    case $preset in
        release) ;;
        dev | asan | tsan | coverage) with_tests=yes ;;
        *) fail "there is no preset '$preset'; there are release, dev, asan, tsan and coverage" ;;
    esac
}

# ------------------------------------------------------------------------------------------------ packages
on_terminal=no
[[ -t 0 ]] && on_terminal=yes

as_root() {
    if ((EUID == 0)); then
        "$@"
    elif ! command -v sudo >/dev/null; then
        fail "packages must be installed and you are neither root nor is there sudo. Run this script as root once,
or have these installed and use --no-packages: ${missing[*]}"
    elif [[ $on_terminal == yes ]] || sudo -n true 2>/dev/null; then
        sudo "$@"
    else
        fail "packages must be installed (${missing[*]}), and sudo wants a password that nobody is here to type.
Run this script in a terminal, or as root."
    fi
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
        apt-get -y -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold "$@" </dev/null
}

lists_are_fresh=no
update_lists() {
    [[ $lists_are_fresh == no ]] || return 0
    say "Fetching the package lists"
    apt_get update || fail "'apt-get update' failed: is the network reachable, and are the apt sources right?"
    lists_are_fresh=yes
}

# The version of a package that apt would install, that is installed; nothing where there is none.
candidate() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n '/(none)/d; s/^  Candidate: //p'; }

installed_version() {
    { LC_ALL=C dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null || true; } |
        sed -n '/^installed /{s///p;q}'
}

at_least() { [[ $2 == - ]] || dpkg --compare-versions "$1" ge "$2~"; }

free_mb() { df -Pm "$1" | awk 'NR == 2 { print $4 }'; }

# Installs what is missing of the given "package version" pairs.
missing=()
install_packages() {
    local wanted=("$@") package minimum version needed i
    missing=()
    for ((i = 0; i < ${#wanted[@]}; i += 2)); do
        version=$(installed_version "${wanted[i]}")
        [[ -n $version ]] && at_least "$version" "${wanted[i + 1]}" || missing+=("${wanted[i]}")
    done
    if ((${#missing[@]} == 0)); then
        say "Packages: all $((${#wanted[@]} / 2)) are installed"
        return
    fi

    update_lists
    for ((i = 0; i < ${#wanted[@]}; i += 2)); do
        package=${wanted[i]} minimum=${wanted[i + 1]}
        version=$(candidate "$package")
        [[ -n $version ]] ||
            fail "apt knows no package '$package'. Was the network reached just now? If so: Vitrine needs Debian 12, Ubuntu 24.04
or a later one (on Ubuntu with 'universe')."
        at_least "$version" "$minimum" ||
            fail "this system's $package is version $version, and Vitrine needs $minimum: use Debian 12, Ubuntu 24.04 or later."
    done
    needed=$((${#missing[@]} > 5 ? PACKAGES_MB : FEW_PACKAGES_MB))
    (($(free_mb /) >= needed)) || fail "the packages need up to $needed MB on /, and only $(free_mb /) MB are free."
    say "Installing ${#missing[@]} packages and what they need: ${missing[*]}"
    apt_get install --no-install-recommends "${missing[@]}" ||
        fail "apt-get could not install the packages; its message is above."
}

# ------------------------------------------------------------------------------------------------ oneDNN
readonly ONEDNN_PREFIX="$ROOT/build/onednn"    # CMakeLists.txt looks here, for every preset
readonly WHEEL_CACHE="${XDG_CACHE_HOME:-${HOME:-$ROOT/build}/.cache}/vitrine"

onednn_from_system() {
    local version
    version=$(installed_version libdnnl-dev)
    [[ -n $version ]] && at_least "$version" "$ONEDNN_MINIMUM"
}

onednn_from_wheel() { [[ "$(cat "$ONEDNN_PREFIX/.version" 2>/dev/null)" == "$WHEEL_VERSION" ]]; }

# Decides where oneDNN is to come from, and installs the packages for that.
install_onednn_packages() {
    if onednn_from_system || onednn_from_wheel; then return; fi
    missing=(oneDNN)
    update_lists
    local version
    version=$(candidate libdnnl-dev)
    if [[ -n $version ]] && at_least "$version" "$ONEDNN_MINIMUM"; then
        install_packages libdnnl-dev "$ONEDNN_MINIMUM"
        return
    fi
    [[ $(uname -m) == x86_64 ]] ||
        fail "Vitrine needs oneDNN $ONEDNN_MINIMUM. This system packages ${version:-none}, and the build that stands in for it is for
x86-64 only; this machine is $(uname -m). Debian 13 packages a oneDNN that is new enough for it."
    install_packages python3 3.9 python3-pip -
}

wheel_file() { printf '%s/%s-%s-py2.py3-none-manylinux1_x86_64.whl' "$WHEEL_CACHE" "${1//-/_}" "$WHEEL_VERSION"; }

wheel_is_good() { [[ -f $(wheel_file "$1") ]] && sha256sum --check --status <<<"$2  $(wheel_file "$1")"; }

# Puts oneDNN into ONEDNN_PREFIX, unless the system has it or it is there already.
fetch_onednn() {
    local name digest python=/usr/bin/python3
    if onednn_from_system; then say "oneDNN: $(installed_version libdnnl-dev), from the system"; return; fi
    if onednn_from_wheel; then say "oneDNN: $WHEEL_VERSION, in build/onednn"; return; fi
    [[ $(uname -m) == x86_64 ]] ||
        fail "oneDNN $ONEDNN_MINIMUM or later must be installed (libdnnl-dev); this machine is $(uname -m)."
    [[ -x $python ]] || fail "python3 is needed to fetch oneDNN (apt-get install python3 python3-pip)."

    mkdir -p "$WHEEL_CACHE"
    while read -r name digest; do
        [[ -n $name ]] || continue
        if ! wheel_is_good "$name" "$digest"; then
            say "Fetching $name $WHEEL_VERSION with pip (kept in $WHEEL_CACHE)"
            "$python" -m pip --version >/dev/null 2>&1 || fail "python3 has no pip (apt-get install python3-pip)."
            PYTHONNOUSERSITE=1 "$python" -m pip download --quiet --no-deps --only-binary=:all: --no-input \
                --disable-pip-version-check --dest "$WHEEL_CACHE" "$name==$WHEEL_VERSION" </dev/null ||
                fail "pip could not fetch $name: is the network (or the package index that pip is set up for) reachable?"
            wheel_is_good "$name" "$digest" ||
                fail "$(wheel_file "$name") is not the file it should be (SHA-256 differs). Remove it and try again."
        fi
    done <<<"$WHEELS"

    say "Unpacking oneDNN $WHEEL_VERSION into build/onednn"
    rm -rf "$ONEDNN_PREFIX" "$ONEDNN_PREFIX.new"
    while read -r name digest; do
        [[ -n $name ]] || continue
        "$python" - "$(wheel_file "$name")" "$ONEDNN_PREFIX.new" <<'PYTHON'
# A wheel keeps what belongs under the prefix in NAME.data/data/. It cannot hold links: the library is in it three times.
import os, re, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for member in wheel.namelist():
        _, found, path = member.partition(".data/data/")
        if not found or member.endswith("/"):
            continue
        target = os.path.join(sys.argv[2], path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if re.fullmatch(r"lib/libdnnl\.so(\.\d+)?", path):
            os.symlink("libdnnl.so.3.2", target)
        else:
            with open(target, "wb") as out:
                out.write(wheel.read(member))
PYTHON
    done <<<"$WHEELS"
    echo "$WHEEL_VERSION" >"$ONEDNN_PREFIX.new/.version"
    mv "$ONEDNN_PREFIX.new" "$ONEDNN_PREFIX"
}

# ------------------------------------------------------------------------------------------------ build, run
# One compiler for each core, as far as memory allows (about 1.5 GB each).
parallel_jobs() {
    local cores memory
    cores=$(nproc)
    memory=$(awk '/^MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo)
    echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}

build() {
    local directory="$ROOT/build" options=()
    [[ $preset == release ]] || directory="$ROOT/build-$preset"
    mkdir -p "$directory" || fail "cannot write to $ROOT."
    (($(free_mb "$directory") >= BUILD_MB)) ||
        fail "the build needs about $BUILD_MB MB in $directory, and only $(free_mb "$directory") MB are free."
    if [[ -f $directory/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" "$directory/CMakeCache.txt"; then
        say "$directory was made for another folder: starting it afresh"
        rm -rf "$directory/CMakeCache.txt" "$directory/CMakeFiles"
    fi
    if [[ $with_tests == yes ]]; then
        options=(-DVITRINE_BUILD_TESTS=ON)
    elif [[ ! -f $directory/CMakeCache.txt ]]; then
        options=(-DVITRINE_BUILD_TESTS=OFF)     # their packages may not be there; a later --test turns them on
    fi
    say "Configuring and building into ${directory#"$ROOT/"} (preset $preset, $(parallel_jobs) at a time)"
    cmake --preset "$preset" "${options[@]}"
    cmake --build --preset "$preset" --parallel "$(parallel_jobs)"
}

main() {
    local arguments=("$@")
    parse_arguments "$@"
    cd "$ROOT"

    if [[ $with_packages == yes ]]; then
        command -v apt-get >/dev/null ||
            fail "there is no apt on this system. Install the packages that CONTRIBUTING.md names (vcpkg.json lists them too),
then run this script with --no-packages."
        # shellcheck disable=SC2046,SC2086  # lists of words, meant to be split
        install_packages $PACKAGES $([[ $with_tests == no ]] || echo $TEST_PACKAGES)
        install_onednn_packages
        # Through sudo, what is built belongs to the one who called, not to root.
        if ((EUID == 0)) && [[ -n ${SUDO_USER:-} && $SUDO_USER != root ]] && sudo -n -u "$SUDO_USER" test -w "$ROOT"; then
            say "Building as $SUDO_USER"
            exec sudo -n -u "$SUDO_USER" -H -- "$ROOT/setup.sh" --no-packages "${arguments[@]}"
        fi
    fi
    fetch_onednn
    build

    if [[ $with_tests == yes ]]; then
        say "Running the tests"
        ctest --preset "$preset" --parallel "$(parallel_jobs)"
    else
        say "build/apps/vitrine classify $PICTURE"
        build/apps/vitrine classify "$PICTURE"
    fi
}

main "$@"
