#!/bin/sh
# Compares two recipes in interleaved pairs, and says what came of it: in the log, the summary, a comment, files and the
# exit code. Everything it takes is in variables, as action.yml sets them.
set -eu

results=helenus-results
mkdir -p "$results"

# The recipe as the base has it, and as the pull request has it.
a=${SIDE_A:-}
b=${SIDE_B:-$RECIPE}
if [ -z "$a" ]; then
    a="$results/base-$(basename "$RECIPE")"
    git cat-file -e "$BASE^{commit}" 2>/dev/null || git fetch --quiet --depth 1 origin "$BASE"
    git show "$BASE:$RECIPE" > "$a" || {
        echo "::error::the base $BASE has no $RECIPE; name side A with the input a" >&2
        exit 2
    }
fi

set -- --ab "$a" "$b" --pairs "$PAIRS"
while IFS= read -r threshold; do
    [ -z "$threshold" ] || set -- "$@" --fail-on "$threshold"
done <<EOF
$FAIL_ON
EOF
code=0
helenus compare "$@" || code=$?
echo "exit-code=$code" >> "${GITHUB_OUTPUT:-/dev/null}"

# There is nothing to draw where no pair became whole.
comparison=$(helenus history --comparisons --format json | grep -o '"cmp[0-9]*"' | tail -n 1 | tr -d '"')
if [ -n "$comparison" ]; then
    helenus report "$comparison" --html "$results/comparison.html" --markdown "$results/comparison.md" --force
    cat "$results/comparison.md" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
    if [ "$COMMENT" = true ] && [ -n "${PULL_REQUEST:-}" ]; then
        # A pull request of a fork has no right to write.
        gh pr comment "$PULL_REQUEST" --body-file "$results/comparison.md" --edit-last --create-if-none ||
            echo "::notice::the result could not be written into the pull request; it is in the summary"
    fi
fi

# Adds this job's runs to the branch, and takes those that are there. Files are only ever added: two jobs at once can
# be in each other's way once, and never for good.
keep() {
    kept=$(mktemp -d)
    tries=5
    while :; do
        if git fetch --quiet --depth 1 origin "$HISTORY_BRANCH" 2>/dev/null; then
            from=FETCH_HEAD
        else
            from=$(git -c user.name=helenus -c user.email=helenus@localhost \
                commit-tree -m "runs of Helenus" "$(git mktree < /dev/null)")
        fi
        git worktree add --quiet --detach "$kept/branch" "$from"
        helenus history sync "$kept/branch/runs"
        git -C "$kept/branch" add runs
        git -C "$kept/branch" diff --cached --quiet ||
            git -C "$kept/branch" -c user.name=helenus -c user.email=helenus@localhost \
                commit --quiet -m "runs of ${PULL_REQUEST:+pull request $PULL_REQUEST, }$(date -u +%Y-%m-%d)"
        pushed=0
        git -C "$kept/branch" push --quiet origin "HEAD:refs/heads/$HISTORY_BRANCH" || pushed=$?
        git worktree remove --force "$kept/branch"
        [ "$pushed" != 0 ] || break
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || break
        sleep $((RETRY_AFTER_S * (5 - tries)))
    done
    rmdir "$kept"
    return "$pushed"
}
RETRY_AFTER_S=${RETRY_AFTER_S:-3}
if [ -n "${HISTORY_BRANCH:-}" ]; then
    keep || echo "::warning::the runs could not be written to the branch $HISTORY_BRANCH"
fi

if [ "$code" = 6 ] && [ "$INCONCLUSIVE" = notice ]; then
    echo "::notice::the data are inconclusive; give it more pairs"
    code=0
fi
exit "$code"
