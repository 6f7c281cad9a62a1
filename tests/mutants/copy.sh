# shellcheck shell=bash
# A copy of the sources as a package of another name, sourced by whoever builds one with a change:
# cargo tells packages in one target folder apart by their names, and would else take the build of
# the copy for one of the working tree. The dependencies are those of every other build.

# What git knows and what it would add, as it is now.
sources() {
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do
            if [ -f "$file" ]; then printf '%s\0' "$file"; fi
        done
}

#   make_copy FOLDER NAME
make_copy() {
    # With new times, because cargo goes by them, and the last run may have ended with a change.
    sources | tar -cf - --null -T - | tar -xmf - -C "$1"
    awk -v name="$2" '/^\[/ { package = $0 == "[package]" }
        package && $0 == "name = \"jobshape\"" { $0 = "name = \"" name "\"" }
        { print }' Cargo.toml >"$1/Cargo.toml"
    sed "s/^name = \"jobshape\"\$/name = \"$2\"/" Cargo.lock >"$1/Cargo.lock"
    grep -qx "name = \"$2\"" "$1/Cargo.toml" || {
        echo "Cargo.toml has no name to change" >&2
        return 1
    }
}
