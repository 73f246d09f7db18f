package bohr;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiPredicate;
import java.util.function.BooleanSupplier;

/**
 * Concurrent breakpoints for Java: two places in a program and a condition on the
 * threads that come there. A thread that arrives alone is held up for a moment; when
 * its partner comes, the breakpoint is hit, and the two go on in the order that was
 * asked for. After Park, Sen, "Concurrent breakpoints", PPoPP 2012. The crate
 * {@code bohr-break} and {@code bohr_break.h} are the same for Rust, C and C++.
 *
 * <pre>{@code
 * static final Breakpoint<Object> LOST = Breakpoint.conflict("lost update");
 *
 * void depositSlowly(Account account) {
 *     int seen = account.balance;
 *     try (Visit turn = LOST.second(account)) {
 *         account.balance = seen + 1;
 *     }
 * }
 *
 * void depositQuickly(Account account) {
 *     try (Visit turn = LOST.first(account)) {
 *         account.balance++;
 *     }
 * }
 * }</pre>
 *
 * <p>The second block begins when the first is done, however it is left. Breakpoints
 * sleep, at the cost of one load and a comparison, until the environment arms them or
 * {@link #arm} does:
 *
 * <pre>
 *     BOHR_BREAK=all          or names of breakpoints with commas between
 *     BOHR_BREAK_PAUSE=1000   how long threads are held up, in milliseconds
 *     BOHR_BREAK_SUMMARY=text or json: what became of them, on standard error at exit
 * </pre>
 *
 * <p>A thread is never held up for good: pauses end, no lock is held while a condition
 * is evaluated, a condition that throws is reported and does not hold, and a thread
 * that is interrupted while it is held up goes on at once, still interrupted.
 *
 * @param <S> what a side brings along for the condition
 */
public final class Breakpoint<S> {
    /** What the sides after one that took a plain step wait, in milliseconds. */
    private static final long SETTLING = 1;

    private static final String NAMES = System.getenv("BOHR_BREAK");
    private static final String SUMMARY = System.getenv("BOHR_BREAK_SUMMARY");
    private static final List<Breakpoint<?>> KNOWN = new ArrayList<>();
    private static final long BEGIN = System.nanoTime();

    private static volatile boolean armed = NAMES != null && !NAMES.isEmpty();

    static {
        if (SUMMARY != null) {
            Runtime.getRuntime().addShutdownHook(new Thread(Breakpoint::printSummary));
        }
    }

    private final String name;
    private final BiPredicate<? super S, ? super S> condition;
    private int sides = 2;
    private long pause = asked(100);
    private long ignored;
    private long mostHits = Long.MAX_VALUE;
    private String within;
    private boolean oneWaits;

    /** Who is held up here; also the lock of all that follows. */
    private final List<Postponed<S>> waiting = new ArrayList<>();
    private long arrivals;
    /** Not all sides of these have come to their end. */
    private final List<Meeting> meetings = new ArrayList<>();

    private final AtomicLong passed = new AtomicLong();
    private final AtomicLong visits = new AtomicLong();
    private final AtomicLong postponements = new AtomicLong();
    private final AtomicLong hits = new AtomicLong();
    private final AtomicLong timeouts = new AtomicLong();
    private final AtomicLong artefacts = new AtomicLong();
    private final AtomicLong firstHit = new AtomicLong();

    /** Met by threads whose states satisfy the condition, the smaller side first. */
    public Breakpoint(String name, BiPredicate<? super S, ? super S> condition) {
        this.name = name;
        this.condition = condition;
        synchronized (KNOWN) {
            KNOWN.add(this);
        }
    }

    /** Met by threads that are at the same object. */
    public static Breakpoint<Object> conflict(String name) {
        return new Breakpoint<>(name, (one, other) -> one == other);
    }

    /**
     * Met by a thread that is about to notify, which goes first, and one that is about
     * to wait for the same monitor: the notification is missed.
     */
    public static Breakpoint<Object> missedNotification(String name) {
        return conflict(name);
    }

    /** Met by threads that each hold the lock which the other is about to take. */
    public static Breakpoint<Locks> deadlock(String name) {
        return new Breakpoint<>(name, Locks::crossed);
    }

    /** With so many sides instead of two. */
    public Breakpoint<S> sides(int sides) {
        if (sides < 2) {
            throw new IllegalArgumentException("a breakpoint has at least two sides");
        }
        this.sides = sides;
        return this;
    }

    /** Holds threads up for at most this long instead of 100 ms. */
    public Breakpoint<S> pause(Duration pause) {
        this.pause = asked(pause.toMillis());
        return this;
    }

    /** Lets the first so many visits pass. */
    public Breakpoint<S> ignoreFirst(long visits) {
        this.ignored = visits;
        return this;
    }

    /** Sleeps after so many hits; whoever is held up then goes on. */
    public Breakpoint<S> atMost(long hits) {
        this.mostHits = hits;
        return this;
    }

    /**
     * One thread at a time waits at a side: who comes to one where another waits with
     * whom the condition holds passes.
     */
    public Breakpoint<S> oneWaits() {
        oneWaits = true;
        return this;
    }

    /** Only for threads in a {@link Scope} of this name: in a calling context, or under a lock. */
    public Breakpoint<S> within(String scope) {
        this.within = scope;
        return this;
    }

    /** Wakes all breakpoints. */
    public static void arm() {
        armed = true;
    }

    /** Has them sleep. */
    public static void disarm() {
        armed = false;
    }

    /** Before the statement that comes first, which ends when the visit is closed. */
    public Visit first(S state) {
        return side(0, state);
    }

    /** Before the statement that comes second. */
    public Visit second(S state) {
        return side(1, state);
    }

    /** Before the statement of any side, counted from 0; they go on in their order. */
    public Visit side(int side, S state) {
        return armed ? visitIf(true, side, state) : Visit.ASLEEP;
    }

    /**
     * Only where this holds of the visiting thread: a counter, {@code Thread.holdsLock},
     * any expression. Not evaluated while breakpoints sleep; one that throws is reported
     * and does not hold.
     */
    public Narrowed when(BooleanSupplier holds) {
        return new Narrowed(armed && ask(holds));
    }

    /**
     * Counts an error that can be seen: what the mean time to error is about where the
     * bug does not end the program. Where nobody counts them, it is hits.
     */
    public void artefact() {
        if (armed) {
            artefacts.incrementAndGet();
        }
    }

    /**
     * The same where no block fits: whether the breakpoint was hit. Nobody knows when
     * the statement behind the call is done, so the sides after it wait a millisecond.
     */
    public boolean reach(int side, S state) {
        return armed && visitIf(true, side, state).passUnsettled();
    }

    /** Threads that came by. */
    public long visits() {
        return visits.get();
    }

    /** Threads that were held up. */
    public long postponements() {
        return postponements.get();
    }

    /** Meetings. */
    public long hits() {
        return hits.get();
    }

    /** Threads that were let go without one. */
    public long timeouts() {
        return timeouts.get();
    }

    private Visit visitIf(boolean open, int side, S state) {
        return new Visit(visit(open, side, state), side);
    }

    private Meeting visit(boolean open, int side, S state) {
        if (!isIncluded()) {
            return null;
        }
        visits.incrementAndGet();
        if (!open || (within != null && !Scope.isWithin(within)) || side >= sides) {
            return null;
        }
        if (passed.getAndIncrement() < ignored) {
            return null;
        }
        synchronized (waiting) {
            if (isAsleep() || meetings.stream().anyMatch(meeting -> meeting.keepsFrom(side))) {
                return null;
            }
        }
        Meeting meeting = meet(new Postponed<>(side, state));
        if (meeting != null) {
            meeting.awaitTurn(side, pause);
        }
        return meeting;
    }

    private boolean isIncluded() {
        return NAMES == null || NAMES.isEmpty() || NAMES.equals("all")
                || List.of(NAMES.split(" *, *")).contains(name);
    }

    /** Under the lock: whether there will be no further meeting. */
    private boolean isAsleep() {
        return hits.get() >= mostHits;
    }

    /** Whether somebody waits already where one is enough. */
    private boolean isTaken(Postponed<S> own, List<Postponed<S>> others) {
        return oneWaits
                && others.stream().anyMatch(other -> other.side == own.side && ask(() -> condition.test(other.state, own.state)));
    }

    /** Finds partners among those who wait, or waits for them. */
    private Meeting meet(Postponed<S> own) {
        while (true) {
            List<Postponed<S>> others;
            long seen;
            synchronized (waiting) {
                others = new ArrayList<>(waiting);
                seen = arrivals;
            }
            // The condition is the user's: no lock is held here.
            List<Postponed<S>> chosen = new ArrayList<>(List.of(own));
            boolean complete = complete(chosen, 0, others);
            if (!complete && isTaken(own, others)) {
                return null;
            }
            synchronized (waiting) {
                // Others may have met for the last time meanwhile.
                if (isAsleep()) {
                    return null;
                }
                if (complete) {
                    chosen.remove(own);
                    if (waiting.containsAll(chosen)) {
                        return begin(own, chosen);
                    }
                } else if (seen == arrivals) {
                    arrivals++;
                    waiting.add(own);
                    break;
                }
            }
        }
        postponements.incrementAndGet();
        return await(own);
    }

    private Meeting begin(Postponed<S> own, List<Postponed<S>> partners) {
        Thread[] threads = new Thread[sides];
        threads[own.side] = own.thread;
        partners.forEach(partner -> threads[partner.side] = partner.thread);
        Meeting meeting = new Meeting(threads);
        meetings.removeIf(Meeting::isOver);
        meetings.add(meeting);
        waiting.removeAll(partners);
        for (Postponed<S> partner : partners) {
            partner.meeting = meeting;
        }
        hits.incrementAndGet();
        // Also those who wait for a meeting that there will not be.
        waiting.notifyAll();
        firstHit.compareAndSet(0, System.nanoTime() - BEGIN);
        return meeting;
    }

    private Meeting await(Postponed<S> own) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pause);
        boolean interrupted = false;
        boolean dismissed;
        synchronized (waiting) {
            long left = deadline - System.nanoTime();
            while (own.meeting == null && left > 0 && !interrupted && !isAsleep()) {
                try {
                    TimeUnit.NANOSECONDS.timedWait(waiting, left);
                } catch (InterruptedException exception) {
                    interrupted = true;
                }
                left = deadline - System.nanoTime();
            }
            waiting.remove(own);
            dismissed = isAsleep() && left > 0 && !interrupted;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (own.meeting == null && !dismissed) {
            timeouts.incrementAndGet();
        }
        return own.meeting;
    }

    /** Adds one thread for every side from this one on. */
    private boolean complete(List<Postponed<S>> chosen, int side, List<Postponed<S>> others) {
        if (side == sides) {
            return true;
        }
        if (chosen.get(0).side == side) {
            return complete(chosen, side + 1, others);
        }
        for (Postponed<S> other : others) {
            if (other.side == side && chosen.stream().allMatch(one -> fits(one, other))) {
                chosen.add(other);
                if (complete(chosen, side + 1, others)) {
                    return true;
                }
                chosen.remove(other);
            }
        }
        return false;
    }

    private boolean fits(Postponed<S> one, Postponed<S> other) {
        if (one.thread == other.thread) {
            return false;
        }
        Postponed<S> first = one.side < other.side ? one : other;
        Postponed<S> second = one.side < other.side ? other : one;
        return ask(() -> condition.test(first.state, second.state));
    }

    /** Asks the user's code, with no lock held. */
    private boolean ask(BooleanSupplier holds) {
        try {
            return holds.getAsBoolean();
        } catch (Throwable thrown) {
            System.err.println("breakpoint " + name + ": its condition threw and does not hold: " + thrown);
            return false;
        }
    }

    private static long asked(long otherwise) {
        String asked = System.getenv("BOHR_BREAK_PAUSE");
        try {
            return asked == null ? otherwise : Long.parseLong(asked.trim());
        } catch (NumberFormatException exception) {
            return otherwise;
        }
    }

    private static void printSummary() {
        List<String> lines = new ArrayList<>();
        synchronized (KNOWN) {
            for (Breakpoint<?> one : KNOWN) {
                if (one.visits.get() > 0) {
                    lines.add(SUMMARY.equals("json") ? one.asJson() : one.asText());
                }
            }
        }
        System.err.println(SUMMARY.equals("json") ? "[" + String.join(",", lines) + "]" : String.join("\n", lines));
    }

    private String asText() {
        String text = String.format(Locale.ROOT, "breakpoint %s: %d visits, %d postponed, %d hits, %d timed out",
                name, visits.get(), postponements.get(), hits.get(), timeouts.get());
        if (hits.get() > 0) {
            text += String.format(Locale.ROOT, ", first hit after %.6f s", firstHit.get() / 1e9);
        }
        return errors() == 0 ? text : text + String.format(Locale.ROOT, ", mean time to error %.6f s", meanTime());
    }

    /** Errors that were counted, or hits where none was. */
    private long errors() {
        return artefacts.get() > 0 ? artefacts.get() : hits.get();
    }

    private double meanTime() {
        return (System.nanoTime() - BEGIN) / 1e9 / errors();
    }

    private String asJson() {
        StringBuilder escaped = new StringBuilder();
        for (char letter : name.toCharArray()) {
            if (letter == '"' || letter == '\\') {
                escaped.append('\\').append(letter);
            } else if (letter < ' ') {
                escaped.append(String.format(Locale.ROOT, "\\u%04x", (int) letter));
            } else {
                escaped.append(letter);
            }
        }
        String first = hits.get() > 0 ? String.format(Locale.ROOT, "%.6f", firstHit.get() / 1e9) : "null";
        String mean = errors() > 0 ? String.format(Locale.ROOT, "%.6f", meanTime()) : "null";
        return String.format(
                Locale.ROOT,
                "{\"name\":\"%s\",\"visits\":%d,\"postponements\":%d,\"hits\":%d,\"timeouts\":%d,"
                        + "\"seconds_to_first_hit\":%s,\"artefacts\":%d,\"mean_time_to_error\":%s}",
                escaped, visits.get(), postponements.get(), hits.get(), timeouts.get(), first, artefacts.get(), mean);
    }

    /** A lock that a thread holds, and one that it is about to take. */
    public static final class Locks {
        private final Object held;
        private final Object wanted;

        /** Of a thread that holds {@code held} and will take {@code wanted}. */
        public Locks(Object held, Object wanted) {
            this.held = held;
            this.wanted = wanted;
        }

        static boolean crossed(Locks one, Locks other) {
            return one.held == other.wanted && one.wanted == other.held;
        }
    }

    /** A thread at a breakpoint. Until it is closed, the sides after it wait. */
    public static final class Visit implements AutoCloseable {
        private static final Visit ASLEEP = new Visit(null, 0);

        private final Meeting meeting;
        private final int side;

        private Visit(Meeting meeting, int side) {
            this.meeting = meeting;
            this.side = side;
        }

        /** Whether all sides have met. */
        public boolean isHit() {
            return meeting != null;
        }

        private boolean passUnsettled() {
            if (meeting != null) {
                meeting.pass(side, true);
            }
            return meeting != null;
        }

        @Override
        public void close() {
            if (meeting != null) {
                meeting.pass(side, false);
            }
        }
    }

    /** The breakpoint where a thread comes by under a condition of its own; made by {@link #when}. */
    public final class Narrowed {
        private final boolean open;

        private Narrowed(boolean open) {
            this.open = open;
        }

        /** As {@link Breakpoint#first}. */
        public Visit first(S state) {
            return side(0, state);
        }

        /** As {@link Breakpoint#second}. */
        public Visit second(S state) {
            return side(1, state);
        }

        /** As {@link Breakpoint#side}. */
        public Visit side(int side, S state) {
            return armed ? visitIf(open, side, state) : Visit.ASLEEP;
        }

        /** As {@link Breakpoint#reach}. */
        public boolean reach(int side, S state) {
            return side(side, state).passUnsettled();
        }
    }

    /** Says, until it is closed, that this thread is in a calling context, or holds a lock of some kind. */
    public static final class Scope implements AutoCloseable {
        private static final ThreadLocal<List<String>> SCOPES = ThreadLocal.withInitial(ArrayList::new);

        private final String name;

        /** Enters it. */
        public Scope(String name) {
            this.name = name;
            SCOPES.get().add(name);
        }

        static boolean isWithin(String name) {
            return SCOPES.get().contains(name);
        }

        @Override
        public void close() {
            SCOPES.get().remove(name);
        }
    }

    /**
     * So many threads that run the same code, told apart by the order in which they were
     * created, for {@link #when}: {@code B.when(() -> TELLERS.which() == 1).first(account)}.
     * All places that ask the same roll mean the same threads, which go on in that order,
     * each after a moment.
     */
    public static final class Roll {
        private final int of;
        private final long pause = asked(100);
        /** In the order of their creation once it is closed; who comes late is behind. */
        private final List<Thread> threads = new ArrayList<>();
        /** All are there, or nobody waits for the others any longer. */
        private boolean closed;
        /** How many have gone on. */
        private int gone;

        /** Of so many. */
        public Roll(int of) {
            this.of = of;
        }

        /**
         * Which of them this thread is, from 1; 0 if it is none of them, or if breakpoints
         * sleep. Who comes before all are there is held up, at its first visit.
         */
        public int which() {
            return armed ? call() : 0;
        }

        private synchronized int call() {
            Thread own = Thread.currentThread();
            boolean comes = !threads.contains(own) && threads.size() < of;
            if (comes) {
                threads.add(own);
                if (threads.size() == of) {
                    close();
                }
            }
            if (comes) {
                await(pause, () -> closed);
                close();
            }
            int before = threads.indexOf(own);
            if (comes) {
                await(pause, () -> gone >= before);
                if (before > 0) {
                    await(SETTLING, () -> false);
                }
                gone = Math.max(gone, before + 1);
                notifyAll();
            }
            return before + 1;
        }

        private void await(long most, BooleanSupplier done) {
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(most);
            long left = deadline - System.nanoTime();
            try {
                while (!done.getAsBoolean() && left > 0) {
                    TimeUnit.NANOSECONDS.timedWait(this, left);
                    left = deadline - System.nanoTime();
                }
            } catch (InterruptedException exception) {
                Thread.currentThread().interrupt();
            }
        }

        private void close() {
            if (!closed) {
                closed = true;
                threads.sort(Comparator.comparingLong(Thread::getId));
                notifyAll();
            }
        }
    }

    /** A thread that is held up. */
    private static final class Postponed<S> {
        final int side;
        final S state;
        final Thread thread = Thread.currentThread();
        /** Changes under the lock of the list that it is in. */
        Meeting meeting;

        Postponed(int side, S state) {
            this.side = side;
            this.state = state;
        }
    }

    /** A hit: all sides are here, and go on one after the other. */
    private static final class Meeting {
        /** Who has met, by side. */
        private final Thread[] threads;
        /** Sides before this one are done. */
        private int turn;
        /** How many have begun. */
        private int begun;
        /** How many have not come to their end. */
        private int left;
        private boolean unsettled;

        Meeting(Thread[] threads) {
            this.threads = threads;
            this.left = threads.length;
        }

        /**
         * Whether this thread has met others here at another side, and is at its statement, or
         * was a moment ago and the side after its own has not begun. That it comes by belongs to
         * this meeting: it meets nobody else there.
         */
        synchronized boolean keepsFrom(int other) {
            int side = Arrays.asList(threads).indexOf(Thread.currentThread());
            boolean gone = unsettled && begun <= side + 1;
            return side >= 0 && side != other && left > 0 && (turn <= side || gone);
        }

        synchronized boolean isOver() {
            return left <= 0;
        }

        synchronized void awaitTurn(int side, long most) {
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(most);
            try {
                long left = deadline - System.nanoTime();
                while (turn < side && left > 0) {
                    TimeUnit.NANOSECONDS.timedWait(this, left);
                    left = deadline - System.nanoTime();
                }
                if (side > 0 && unsettled) {
                    TimeUnit.MILLISECONDS.timedWait(this, SETTLING);
                }
            } catch (InterruptedException exception) {
                Thread.currentThread().interrupt();
            }
            begun = side + 1;
        }

        synchronized void pass(int side, boolean unsettled) {
            turn = Math.max(turn, side + 1);
            left--;
            this.unsettled = unsettled;
            notifyAll();
        }
    }
}
