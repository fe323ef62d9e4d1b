# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# What treadle-host --check finds, for scripts/test-host, which reads this file.

test_check_of_good_ones() {
    local good lines
    for good in greeter.so forgetter.so finisher.so "echo.so greeter.so"; do
        # shellcheck disable=SC2086 # words
        ends_with 0 --check $good
        in_order 'ok its description is sound: .*' 'ok its query answers the same each time' 'ok it is loaded and closed without a start' \
            'ok the process is as it was after its first life' \
            'ok stop returns, and all of it ends, within the timeout: .*' 'ok it is loaded, started and closed 20 times' \
            'ok no descriptor is left: 0 more .*' 'ok no thread is left: 0 more .*' 'ok no memory is left: [0-9] more .*' \
            'ok it is unmapped' \
            'ok it is loaded, started and closed 50 times while four threads post to the main loop'
        if [ "$good" = "echo.so greeter.so" ]; then
            # Its provider's extension is a function, which no descriptor describes.
            says 'ok it is not run in a process of its own: .*example.greeting/1.*'
            lines=12
        else
            in_order 'ok it is loaded, started and closed 6 times in a process of its own' \
                'ok nothing of that is left in the host: 0 more descriptors, 0 more threads, [0-9]+ more bytes each time'
            lines=13
        fi
        [ "$(grep -c '^ok ' "$scratch/out")" -eq $lines ] || fail "other points are told: $(cat "$scratch/out")"
    done
    ends_with 0 --check --set $greeter.greeting=hi greeter.so
    ends_with 0 --check "$built/files/nodelete.so"
    says 'ok it stays mapped: its file forbids .*'
}

test_check_of_bad_ones() {
    ends_with 1 --check missing.so
    says 'FAILED its description is sound: path names no file: \./missing\.so: No such file or directory'
    echo 'import treadle' >"$scratch/ticker.py"
    ends_with 1 --check "$scratch/ticker.py"
    says 'FAILED its description is sound: .*treadle-python-plugin.so --set org.treadle.python.files=.*ticker\.py'
    ends_with 1 "$scratch/ticker.py"
    warns '.*treadle-python-plugin.so --set org.treadle.python.files=.*ticker\.py'
    ends_with 1 --check "$built/probes/no_plugin.so"
    says 'FAILED its description is sound: .*treadle_plugin_query.*'
    LIE=5 ends_with 1 --check "$built/probes/liar.so"
    says 'FAILED its description is sound: .*'
    ends_with 1 --check changing.so
    says 'FAILED its query answers the same each time'
    says 'ok it is unmapped'
    ends_with 1 --check echo.so
    says 'FAILED it can be started the first time: .*example.greeting/1'
    ends_with 1 --check "$built/files/leaking.so"
    says 'FAILED no descriptor is left: 19 more after 19 loads'
    ends_with 1 --check wasteful.so
    says 'FAILED no memory is left: (2[4-9]|3[0-9]|4[0-8]) more bytes each time'
    says 'ok it is unmapped'
    ends_with 1 --check restless.so
    says 'FAILED no thread is left: 19 more after 19 loads'
    says 'ok it stays mapped: its description does not say TREADLE_PLUGIN_MAY_UNMAP'
    ends_with 1 --check --timeout 1 slow.so
    says 'FAILED stop and deinit return within the timeout: the first time it took ([3-9]|[1-9][0-9]+)\..* s of 1\.000'
    ends_with 1 --check --timeout 1 blocker.so
    says 'FAILED it ends within its timeout: .*'
    says '    timer, in thread [0-9]+ "treadle-host", .*'
    ends_with 1 --check crasher.so
    warns 'treadle-host: org.example.crasher crashed in its init or start'
    says 'FAILED it does not crash: Segmentation fault, in its init or start'
    ends_with 1 --check --set org.example.crasher.where=callback crasher.so
    says 'FAILED it does not crash: Segmentation fault, while the main loop ran'
}

test_check_in_a_process_of_its_own() {
    ends_with 0 --check isolation.so
    says 'ok it is loaded, started and closed 6 times in a process of its own'
    ends_with 1 --check --set org.example.isolation.what=exit isolation.so
    says 'FAILED it runs in a process of its own: .*exit status 7.*'
    ends_with 1 --check --timeout 1 --set org.example.isolation.what=slow isolation.so
    says 'FAILED its stop returns in a process of its own: it took [0-9.]+ s of 1\.000'
    # The program of such processes is named, and is not there.
    TREADLE_PLUGIN_PROCESS=/nowhere ends_with 1 --check isolation.so
}

# A stop whose thread has to wait for a processor is not at fault.
test_check_on_a_busy_machine() {
    local processor spinning=() i
    processor=$(taskset -cp $BASHPID | sed 's/.*[ ,-]//')
    taskset -cp "$processor" $BASHPID
    touch "$scratch/once"
    for ((i = 0; i < 8; i++)); do
        timeout 8 sh -c 'while :; do :; done' &
        spinning+=($!)
    done
    ends_with 0 --check --timeout 1 --set "org.example.slow.once=$scratch/once" slow.so
    for i in "${spinning[@]}"; do kill "$i" || true; done
    [ ! -e "$scratch/once" ] || fail 'no stop took its time'
    says 'ok stop returns, and all of it ends, within the timeout: .*'
}

# The plugins of the C tests: those that break the contract are named, and the others do no harm. Not these: restless, whose threads
# never end; bringer, whose libraries the C tests build; meeter, settler and visitor, which meet other plugins of their tests only.
finds() { # PLUGIN LINE ARGUMENT...
    local name=$1 line=$2
    shift 2
    ends_with 1 --check "$built/probes/$name.so" "$@" scripter.so
    says "FAILED $line"
}
test_check_of_hostile_ones() {
    local lie
    for lie in $(seq 46); do LIE=$lie finds liar 'its description is sound: .*'; done
    # This one is no lie, but for a process without the variable.
    LIE=47 finds liar 'it runs in a process of its own: .*plugin has no description.*'
    finds no_plugin 'its description is sound: .*treadle_plugin_query.*'
    finds unbound 'its description is sound: .*nobody_has_this.*'
    finds orphan 'it can be started the first time: .*example.nothing/7'
    finds ring_one 'the other plugins start: .*example.one/1' "$built/probes/ring_two.so"
    # References to locks and the like are memory, and the plugin's own duty.
    finds forgetful 'no memory is left: [0-9]+ more bytes each time'
    finds bare 'its description is sound: .*build it with TREADLE_PLUGIN: bare.so: treadle_timer_start'
    finds selfless 'its description is sound: .*was built without TREADLE_PLUGIN.*'
    for name in early clash stays patient busy excuse keeper provider shortened version_two wisher newer; do
        TREADLE_TEST_VERSIONS=10000-10001 ends_with 0 --check "$built/probes/$name.so" scripter.so
    done
    ends_with 0 --check "$built/probes/user.so" "$built/probes/provider.so" scripter.so
}

# A check of the plugin that leaves something behind fails with this line alone.
leaves() { # WHAT LINE
    ends_with 1 --check --set "org.example.leaver.what=$1" leaver.so
    says "FAILED $2"
    [ "$(grep -c '^FAILED ' "$scratch/out")" -eq 1 ] || fail "something else failed as well: $(cat "$scratch/out")"
}
test_check_names_what_is_left() {
    ends_with 0 --check leaver.so
    local same='the process is as it was:'
    leaves handler "$same the handler of signal 12 .*"
    leaves mask "$same signal 12 .* was blocked"
    leaves key "$same [0-9]+ keys of pthread_key_create are left after 20 loads"
    leaves directory "$same the directory is /, and was $built/plugins"
    leaves umask "$same the umask is 123, and was 022"
    leaves alarm "$same an alarm is set"
    leaves child "$same a child process is left"
    leaves library "$same .*/left.so was opened [0-9]+ times by dlopen and not closed"
    leaves thread 'no thread is left: 2 more after 2 loads, and its code may be unmapped'
    # What comes of it is not known: the text is in the image that is gone.
    ends_with 1 --check --set org.example.leaver.what=environment leaver.so
    says "FAILED $same the environment was changed"
}
# The same of what other libraries and the kernel keep of it: it may break more than the one point.
breaks() { # WHAT LINE
    ends_with 1 --check --set "org.example.breaker.what=$1" breaker.so
    says "FAILED $2"
}
test_check_names_what_leads_into_it() {
    local same='the process is as it was:' what
    for what in nothing atexit; do ends_with 0 --check --set "org.example.breaker.what=$what" breaker.so; done
    breaks itself 'it does not crash: Segmentation fault, in its init or start'
    breaks on_exit 'it does not crash: Segmentation fault, .*'
    breaks value "$same [0-9]+ keys of pthread_key_create are left after 20 loads"
    breaks altstack "$same the stack for signal handlers was changed"
    if [ -r /proc/self/timers ]; then breaks timer "$same a timer of timer_create is left"; fi
    breaks profile "$same an alarm of ITIMER_PROF is set"
    breaks buffer "$same the buffer of standard output is the plugin's"
    breaks stream 'no memory is left: [0-9]+ more bytes each time'
    breaks limit "$same limit [0-9]+ of setrlimit was changed"
    if [ "$(nproc)" -gt 1 ]; then breaks processor "$same the processors of the main thread were changed"; fi
    breaks input "$same the flags of standard input were changed"
    breaks closed "$same standard input is another file, or closed"
    breaks callback 'no other library points into it: .*/left.so does, to its byte 0x[0-9a-f]+, and its code may be unmapped'
    breaks name "$same the name of the main thread is a breaker, and was treadle-host"
    breaks mapping 'no memory is left: 65536 more bytes are mapped each time'
    breaks reaper "$same PR_SET_CHILD_SUBREAPER of prctl was called"
    breaks output "$same standard output is another stream"
    says "FAILED $same standard output is another file, or closed"
    breaks cancel "$same the main thread's cancellation was disabled"
    breaks traps "$same what numbers trap was changed"
    ends_with 1 --check hasty.so
    says 'FAILED no thread is left: 1 more of its constructors, and its code may be unmapped'
}
test_check_of_closures() {
    for what in closures pointers; do
        ends_with 0 --check --set org.example.leaver.what=$what leaver.so
        says 'ok no memory is left: [0-9] more bytes each time'
    done
}
test_check_of_those_that_end_the_process() {
    leaves exit 'it does not end the process: exit with status 0, in its init or start'
    leaves end 'it does not end the process: exit with status 0, in its init or start'
    leaves exec 'it does not replace the program: another one was executed, in its init or start'
    leaves shutdown 'the main loop goes on: .*'
}
test_a_check_is_ended_by_a_signal() {
    begin --check --set org.example.leaver.what=wait leaver.so
    await_line '^ok it is loaded and closed without a start$'
    finish_with 1 TERM
    says 'FAILED the check comes to its end: Terminated ended it, .*'
}
test_check_as_json() {
    local read='import json, sys; check = json.load(sys.stdin); print(check["ok"], [p["name"] for p in check["points"] if not p["ok"]])'
    ends_with 0 --check --json greeter.so
    [ "$(python3 -c "$read" <"$scratch/out")" = "True []" ] || fail "it is another check: $(cat "$scratch/out")"
    ends_with 1 --check --json --set org.example.leaver.what=umask leaver.so
    [ "$(python3 -c "$read" <"$scratch/out")" = "False ['process']" ] || fail "it is another check: $(cat "$scratch/out")"
    ends_with 1 --check --json crasher.so
    [ "$(python3 -c "$read" <"$scratch/out")" = "False ['crash']" ] || fail "it is another check: $(cat "$scratch/out")"
    ends_with 1 --check --json --timeout 0.2 blocker.so
    [ "$(python3 -c "$read" <"$scratch/out")" = "False ['end']" ] || fail "it is another check: $(cat "$scratch/out")"
    grep -q '"details": \[.*"timer, in thread' "$scratch/out" || fail "the holder is not named: $(cat "$scratch/out")"
}
