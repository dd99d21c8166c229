#!/bin/sh
# throwaway.sh FOLDER COMMAND...: runs COMMAND as root of a copy of this machine that is forgotten afterwards, so that
# tests can install for the whole machine and use what they installed as any user would. What is below FOLDER is the
# real thing. Exit code 77, with the reason, where such a copy cannot be made: it takes root, and a kernel that lays
# one file system over another.
set -eu

cannot() {
    echo "skipped: no throw-away copy of this machine: $1"
    exit 77
}

if [ "${1:-}" != --inside ]; then
    [ "$(id -u)" = 0 ] || cannot "we are not root"
    unshare --mount true 2>/dev/null || cannot "$(unshare --mount true 2>&1)"
    exec unshare --mount "$0" --inside "$@"
fi

# In a mount namespace of its own; everything below goes away with it.
shift
folder=$1
shift
place=$(mktemp -d)
mount -t tmpfs none "$place" || cannot "no right to mount"
mkdir "$place/upper" "$place/work" "$place/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$place/upper,workdir=$place/work" "$place/root" || cannot "no overlay"
for shared in /proc /dev /sys "$folder"; do
    mkdir -p "$place/root$shared"
    mount --rbind "$shared" "$place/root$shared"
done
code=0
chroot "$place/root" "$@" || code=$?
umount -l "$place/root" "$place"
rmdir "$place"
exit $code
