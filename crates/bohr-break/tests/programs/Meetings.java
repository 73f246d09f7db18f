import bohr.Breakpoint;
import bohr.Breakpoint.Locks;
import bohr.Breakpoint.Scope;
import bohr.Breakpoint.Visit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** Threads that meet at breakpoints, and what has to hold of that. */
public final class Meetings {
    private static final Duration LONG = Duration.ofMinutes(5);
    private static final Duration SHORT = Duration.ofMillis(20);

    private static final Breakpoint<Object> LOST = Breakpoint.conflict("lost \"update\"").pause(LONG);
    private static final Breakpoint<Object> APART = Breakpoint.conflict("apart").pause(SHORT);
    private static final Breakpoint<Locks> CROSSED = Breakpoint.deadlock("crossed").pause(LONG);
    private static final Breakpoint<Object> THREE = Breakpoint.conflict("three").sides(3).pause(LONG);
    private static final Breakpoint<Integer> THROWS =
            new Breakpoint<Integer>("throws", (one, other) -> one / other == 1).pause(SHORT);
    private static final Breakpoint<Object> SCOPED =
            Breakpoint.conflict("scoped").within("inside").pause(SHORT);
    private static final Breakpoint<Object> ALONE = Breakpoint.conflict("alone").pause(LONG);
    private static final Breakpoint<Object> COUNTED =
            Breakpoint.conflict("counted").ignoreFirst(2).atMost(1).pause(LONG);
    private static final AtomicInteger ASKED = new AtomicInteger();
    private static final CyclicBarrier BOTH = new CyclicBarrier(2);
    private static final Breakpoint<Object> BOUNDED =
            new Breakpoint<Object>("bounded", Meetings::slowly).atMost(1).pause(LONG);
    private static final Breakpoint<Object> ONE = Breakpoint.conflict("one").oneWaits().pause(LONG);

    private static final Breakpoint<Object> UNHEARD = Breakpoint.missedNotification("unheard").pause(LONG);
    private static final Breakpoint<Object> HELD = Breakpoint.conflict("held").pause(LONG);

    private static int balance;

    public static void main(String[] arguments) throws InterruptedException {
        asleep();
        Breakpoint.arm();
        for (int round = 0; round < 100; round++) {
            lostUpdate();
        }
        expect(LOST.hits() == 100, "every round is hit");
        Object object = new Object();
        together(() -> APART.reach(0, object), () -> APART.reach(1, new Object()));
        expect(APART.hits() == 0 && APART.timeouts() == 2, "other objects do not meet");
        crossedLocks();
        order();
        together(() -> THROWS.reach(0, 1), () -> THROWS.reach(1, 0));
        expect(THROWS.hits() == 0, "a condition that throws does not hold");
        together(() -> SCOPED.reach(0, object), () -> SCOPED.reach(1, object));
        expect(SCOPED.postponements() == 0, "nobody is in the scope");
        interrupted();
        counted();
        bounded();
        unheard();
        onlyWhere();
        oneWaits();
        toldApart();
        System.out.println("all met");
    }

    private static void asleep() {
        try (Visit visit = ALONE.first(ALONE)) {
            expect(!visit.isHit() && ALONE.visits() == 0, "nothing happens while they sleep");
        }
    }

    private static void lostUpdate() throws InterruptedException {
        balance = 0;
        together(
                () -> {
                    int seen = balance;
                    try (Visit visit = LOST.second(LOST)) {
                        expect(visit.isHit(), "the second side meets the first");
                        balance = seen + 1;
                    }
                },
                () -> {
                    try (Visit visit = LOST.first(LOST)) {
                        balance++;
                    }
                });
        expect(balance == 1, "an update is lost in every round, not in " + balance);
    }

    private static void crossedLocks() throws InterruptedException {
        Object one = new Object();
        Object other = new Object();
        together(
                () -> {
                    synchronized (one) {
                        expect(CROSSED.reach(0, new Locks(one, other)), "both hold what the other wants");
                    }
                },
                () -> {
                    synchronized (other) {
                        expect(CROSSED.reach(1, new Locks(other, one)), "both hold what the other wants");
                    }
                });
    }

    private static void order() throws InterruptedException {
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        Runnable[] all = new Runnable[3];
        for (int side = 0; side < 3; side++) {
            int own = 2 - side;
            all[side] = () -> {
                try (Visit visit = THREE.side(own, order)) {
                    order.add(own);
                }
            };
        }
        together(all);
        expect(order.equals(List.of(0, 1, 2)), "three sides go on in their order, not " + order);
    }

    private static void interrupted() throws InterruptedException {
        boolean[] still = new boolean[1];
        Thread thread = new Thread(() -> {
            try (Visit visit = ALONE.first(ALONE)) {
                still[0] = Thread.currentThread().isInterrupted() && !visit.isHit();
            }
        });
        thread.start();
        while (ALONE.postponements() == 0) {
            Thread.yield();
        }
        thread.interrupt();
        thread.join();
        expect(still[0] && ALONE.timeouts() == 1, "an interrupted thread goes on, interrupted");
    }

    private static void counted() throws InterruptedException {
        for (int round = 0; round < 3; round++) {
            together(() -> COUNTED.reach(0, COUNTED), () -> COUNTED.reach(1, COUNTED));
        }
        expect(COUNTED.hits() == 1 && COUNTED.visits() == 6, "ignored, hit once, then asleep");
    }

    /** Two come at once: neither has met anybody while the other one looks. */
    private static boolean slowly(Object one, Object other) {
        try {
            if (ASKED.getAndIncrement() < 2) {
                BOTH.await();
            }
        } catch (InterruptedException | BrokenBarrierException exception) {
            throw new IllegalStateException(exception);
        }
        return one == other;
    }

    private static void bounded() throws InterruptedException {
        Runnable first = () -> BOUNDED.reach(0, BOUNDED);
        Runnable second = () -> {
            while (BOUNDED.postponements() < 2) {
                Thread.yield();
            }
            BOUNDED.reach(1, BOUNDED);
        };
        together(first, first, second, second);
        expect(BOUNDED.hits() == 1, "one meeting, however many come at once, not " + BOUNDED.hits());
        expect(BOUNDED.timeouts() == 0, "who was held up beside it is let go");
    }

    private static void unheard() throws InterruptedException {
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        together(
                () -> {
                    try (Visit visit = UNHEARD.second(order)) {
                        order.add("waits");
                    }
                },
                () -> {
                    try (Visit visit = UNHEARD.first(order)) {
                        order.add("notifies");
                    }
                });
        expect(order.equals(List.of("notifies", "waits")), "the notification comes first, not " + order);
    }

    private static void onlyWhere() throws InterruptedException {
        Object caret = new Object();
        together(
                () -> {
                    expect(!HELD.when(() -> Thread.holdsLock(caret)).reach(0, HELD), "nobody waits without the lock");
                    expect(!HELD.when(() -> 1 / (balance - balance) == 1).reach(0, HELD), "what throws does not hold");
                    synchronized (caret) {
                        try (Visit visit = HELD.when(() -> Thread.holdsLock(caret)).first(HELD)) {
                            expect(visit.isHit(), "under the lock they meet");
                            HELD.artefact();
                        }
                    }
                },
                () -> expect(HELD.when(() -> true).reach(1, HELD), "under the lock they meet"));
        expect(HELD.postponements() == 1 && HELD.visits() == 4, "those who passed were counted");
    }

    private static void oneWaits() throws InterruptedException {
        together(
                () -> expect(ONE.reach(0, ONE), "who waits is met"),
                () -> {
                    while (ONE.postponements() == 0) {
                        Thread.yield();
                    }
                    expect(!ONE.reach(0, ONE), "who finds another at its side passes");
                    expect(ONE.reach(1, ONE), "who comes to the other side meets who waits");
                });
        expect(ONE.postponements() == 1 && ONE.hits() == 1, "one thread waited, and was met");
    }

    private static void toldApart() throws InterruptedException {
        Breakpoint.Roll alike = new Breakpoint.Roll(2);
        // However they come, they are told apart by the order in which they were made.
        together(
                () -> {
                    LockSupport.parkNanos(3_000_000);
                    expect(alike.which() == 1, "who was made first is the first");
                },
                () -> expect(alike.which() == 2, "who was made last is the second"));
        expect(alike.which() == 0, "there are two");
    }

    private static void together(Runnable... all) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        List<Throwable> thrown = Collections.synchronizedList(new ArrayList<>());
        for (Runnable one : all) {
            Thread thread = new Thread(one);
            thread.setUncaughtExceptionHandler((ignored, throwable) -> thrown.add(throwable));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        expect(thrown.isEmpty(), "no thread fails: " + thrown);
    }

    private static void expect(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
