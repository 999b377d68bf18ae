#!/bin/sh
# Installs scheduler, and scheduler-temporal beside it, from a release: downloads the archive for
# this machine, compares its SHA-256 with checksums.txt of the release, and copies the programs.
#
#   curl -fsSL https://raw.githubusercontent.com/callnode/scheduler/main/install.sh | sh
#   VERSION=0.1.0 BIN=/usr/local/bin sh install.sh
#
# VERSION   the release; default: the newest
# BIN       where the programs go; default: ~/.local/bin, which needs no root
# BASE_URL  where the files of a release are, for mirrors; default: the releases on GitHub
set -eu

fail() { echo "install.sh: $*" >&2; exit 1; }

releases=https://github.com/callnode/scheduler/releases
bin=${BIN:-$HOME/.local/bin}

case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no archive for $(uname -s) here: see $releases" ;;
esac
case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no archive for the processor $(uname -m): build it from source with make install" ;;
esac
for tool in curl tar; do
	command -v "$tool" >/dev/null || fail "$tool is needed"
done
if command -v sha256sum >/dev/null; then sum=sha256sum; else sum='shasum -a 256'; fi

version=${VERSION:-}
if [ -z "$version" ]; then
	# The newest release answers with a redirect to its tag.
	version=$(curl -fsSLI -o /dev/null -w '%{url_effective}' "$releases/latest" | sed 's|.*/tag/||') ||
		fail "cannot reach $releases"
fi
version=${version#v}
archive=scheduler_${version}_${os}_${arch}.tar.gz
base=${BASE_URL:-$releases/download/v$version}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
curl -fsSL -o "$tmp/$archive" "$base/$archive" || fail "cannot download $base/$archive"
curl -fsSL -o "$tmp/checksums.txt" "$base/checksums.txt" || fail "cannot download $base/checksums.txt"
wanted=$(awk -v file="$archive" '$2 == file { print $1 }' "$tmp/checksums.txt")
[ -n "$wanted" ] || fail "checksums.txt does not name $archive"
have=$(cd "$tmp" && $sum "$archive" | awk '{ print $1 }')
[ "$have" = "$wanted" ] || fail "the checksum of $archive is $have, and the release says $wanted: nothing is installed"

tar -xzf "$tmp/$archive" -C "$tmp"
mkdir -p "$bin"
for program in scheduler scheduler-temporal; do
	# A program that runs is not overwritten in place: the new file takes its name.
	cp "$tmp/$program" "$bin/.$program.new"
	chmod 755 "$bin/.$program.new"
	mv -f "$bin/.$program.new" "$bin/$program"
done
echo "installed $("$bin/scheduler" version) in $bin"
case :$PATH: in
	*:"$bin":*) ;;
	*) echo "add it to your PATH: export PATH=\"$bin:\$PATH\"" ;;
esac
echo 'try: scheduler demo'
