# A virtual machine with two NUMA nodes, emulated in software, runs an instance and looks at it from inside. Nothing is
# installed: the kernel is a package of Debian's, unpacked in the build directory; the machine's disk is its memory.
# Exit status 77: it cannot be run here, and why.
set -euo pipefail
: "${GRANARY_BIN:?}" "${GRANARY_SOURCE:?}" "${NUMA_INSIDE:?}" "${NUMA_WORK:?}"
here=$GRANARY_SOURCE/tests/numa
begun=$SECONDS

skip() {
    echo "SKIPPED: $*"
    exit 77
}

for program in qemu-system-x86_64 busybox cpio apt-get dpkg-deb; do
    command -v "$program" >/dev/null || skip "$program is not installed (tools/check installs it)"
done
[ "$(uname -m)" = x86_64 ] || skip "binaries for $(uname -m) do not run in an emulated x86-64"
mkdir -p "$NUMA_WORK"
cd "$NUMA_WORK"

# the kernel, once
kernel=$(find . -path './kernel/boot/vmlinuz-*' | head -1)
if [ -z "$kernel" ]; then
    package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/.*Depends: //p' | head -1)
    [ -n "$package" ] || skip "this machine's package lists have no linux-image-cloud-amd64"
    rm -rf kernel fetch
    mkdir fetch
    (cd fetch && timeout 120 apt-get -q download "$package") >fetch.log 2>&1 ||
        skip "the kernel could not be fetched: $(tail -n 1 fetch.log)"
    dpkg-deb --fsys-tarfile fetch/*.deb | (mkdir kernel && tar -x -C kernel ./boot)
    rm -rf fetch
    kernel=$(find kernel/boot -name 'vmlinuz-*' | head -1)
fi

# its memory disk: our programs, the libraries they need, and a shell
rm -rf root
mkdir -p root/bin root/proc root/sys root/dev root/tmp
cp "$(command -v busybox)" "$GRANARY_BIN/granary" "$GRANARY_BIN/granary-store" "$GRANARY_BIN/granary-sched" \
    "$GRANARY_BIN/granary-executor" root/bin/
cp "$NUMA_INSIDE" root/bin/numa_inside
for name in sh mount mkdir cat tr poweroff; do
    ln -s busybox "root/bin/$name"
done
install -m 755 "$here/init" root/init
for program in root/bin/granary* root/bin/numa_inside; do
    ldd "$program"
done | sed -n 's|.*=> \(/[^ ]*\) .*|\1|p; s|^[[:space:]]*\(/[^ ]*\) .*|\1|p' | sort -u | while read -r library; do
    mkdir -p "root${library%/*}"
    cp -L "$library" "root$library"
    strip --strip-debug "root$library" 2>/dev/null || true
done
(cd root && find . | cpio --quiet -o -H newc) >initrd
rm -rf root

echo "== booting $(basename "$kernel") with 2 nodes of 2 cpus"
timeout --foreground 240 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 4 -m 1024 \
    -object memory-backend-ram,size=512M,id=m0 -object memory-backend-ram,size=512M,id=m1 \
    -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,cpus=2-3,memdev=m1 -numa dist,src=0,dst=1,val=21 \
    -nodefaults -display none -serial stdio -no-reboot -kernel "$kernel" -initrd initrd \
    -append "console=ttyS0 quiet panic=-1 mitigations=off" </dev/null 2>&1 | tr -d '\r' >console.log || true
rm -f initrd
sed -n '/^== distances/,$p' console.log
echo "== $((SECONDS - begun)) s"
grep -qx 'NUMA as it should be' console.log && grep -qx '== status 0' console.log ||
    { tail -n 30 console.log; echo "FAILED: not as it should be"; exit 1; }
