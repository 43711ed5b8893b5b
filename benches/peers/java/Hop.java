// The Java peer: virtual threads on one carrier thread, and the continuation beneath them.
//
//   Hop resume 1 N    N round trips: run a continuation that yields
//   Hop hop K N       N hops among K virtual threads that yield
//   Hop create 1 N    N virtual threads created, run to their end and joined
//   Hop ring K N      N hops of a token round a ring of K virtual threads, over SynchronousQueue
//   Hop chain K N     N hops of messages down a chain of K, over SynchronousQueue
//
// Prints `BENCH NS VERSION`. What is newer than Java 17 is reached through method handles, so that
// an older compiler will do; constant handles cost nothing once compiled.

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

public final class Hop {
    private static final MethodHandle NEW_SCOPE;
    private static final MethodHandle NEW_CONTINUATION;
    private static final MethodHandle RUN;
    private static final MethodHandle YIELD;
    private static final MethodHandle START;

    static {
        try {
            var lookup = MethodHandles.lookup();
            var scope = Class.forName("jdk.internal.vm.ContinuationScope");
            var continuation = Class.forName("jdk.internal.vm.Continuation");
            var object = Object.class;
            NEW_SCOPE = lookup
                .findConstructor(scope, MethodType.methodType(void.class, String.class))
                .asType(MethodType.methodType(object, String.class));
            NEW_CONTINUATION = lookup
                .findConstructor(continuation, MethodType.methodType(void.class, scope, Runnable.class))
                .asType(MethodType.methodType(object, object, Runnable.class));
            RUN = lookup
                .findVirtual(continuation, "run", MethodType.methodType(void.class))
                .asType(MethodType.methodType(void.class, object));
            YIELD = lookup
                .findStatic(continuation, "yield", MethodType.methodType(boolean.class, scope))
                .asType(MethodType.methodType(boolean.class, object));
            START = lookup.findStatic(
                Thread.class, "startVirtualThread", MethodType.methodType(Thread.class, Runnable.class));
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    public static void main(String[] args) throws Throwable {
        if (args.length != 3) {
            System.err.println("usage: Hop resume|hop|create|ring|chain K N");
            System.exit(2);
        }
        int k = Integer.parseInt(args[1]);
        long n = Long.parseLong(args[2]);
        long took = switch (args[0]) {
            case "resume" -> resume(n);
            case "hop" -> hop(k, n);
            case "create" -> create(n);
            case "ring" -> tokens(k, n);
            case "chain" -> messages(k, n);
            default -> throw new IllegalArgumentException("unknown bench " + args[0]);
        };
        System.out.printf("%s %.3f %s%n", args[0], (double) took / n, Runtime.version().feature());
        // The continuation of `resume` never ends.
        System.exit(0);
    }

    private static long counter;

    private static long resume(long n) throws Throwable {
        Object scope = NEW_SCOPE.invokeExact("bench");
        Runnable body = () -> {
            try {
                while (true) {
                    counter++;
                    boolean ignored = (boolean) YIELD.invokeExact(scope);
                }
            } catch (Throwable error) {
                throw new AssertionError(error);
            }
        };
        Object co = NEW_CONTINUATION.invokeExact(scope, body);
        roundTrips(co, Math.max(n / 2, 200_000));
        roundTrips(co, Math.max(n / 2, 200_000));
        long start = System.nanoTime();
        roundTrips(co, n);
        return System.nanoTime() - start;
    }

    private static void roundTrips(Object co, long n) throws Throwable {
        for (long i = 0; i < n; i++) {
            RUN.invokeExact(co);
        }
    }

    // The first ring warms the compiler up.
    private static long hop(int k, long n) throws Throwable {
        ring(Math.min(k, 1000), Math.max(300_000L / Math.min(k, 1000), 1));
        return ring(k, n / k);
    }

    // Members wait until all have started, make their rounds, wait until all have made theirs: the
    // clock runs from the last start to the last end. They are made from a virtual thread: those
    // that yield would keep the carrier from taking on any that come from outside.
    private static long ring(int k, long rounds) throws Throwable {
        var arrived = new AtomicInteger();
        var finished = new AtomicInteger();
        var start = new AtomicLong();
        var end = new AtomicLong();
        Runnable member = () -> {
            if (arrived.incrementAndGet() == k) start.set(System.nanoTime());
            while (arrived.get() < k) Thread.yield();
            for (long r = 0; r < rounds; r++) Thread.yield();
            if (finished.incrementAndGet() == k) end.set(System.nanoTime());
            while (finished.get() < k) Thread.yield();
        };
        inside(() -> {
            var made = new Thread[k];
            for (int i = 0; i < k; i++) made[i] = start(member);
            for (var thread : made) thread.join();
        });
        return end.get() - start.get();
    }

    private static long create(long n) throws Throwable {
        batch(Math.min(n, 200_000));
        long start = System.nanoTime();
        batch(n);
        return System.nanoTime() - start;
    }

    // From a virtual thread, so that creator and created share the one carrier.
    private static void batch(long n) throws Throwable {
        Runnable body = () -> counter++;
        inside(() -> {
            for (long i = 0; i < n; i++) start(body).join();
        });
    }

    // So many virtual threads, each of which passes on what it receives, plus one: where the last
    // of them sends to.
    private static SynchronousQueue<Long> links(SynchronousQueue<Long> into, int count)
            throws Throwable {
        var last = into;
        for (int i = 0; i < count; i++) {
            var from = last;
            var to = new SynchronousQueue<Long>();
            Runnable link = () -> {
                try {
                    while (true) to.put(from.take() + 1);
                } catch (InterruptedException error) {
                    throw new AssertionError(error);
                }
            };
            start(link);
            last = to;
        }
        return last;
    }

    // The first ring warms the compiler up; they end with the program.
    private static long tokens(int k, long n) throws Throwable {
        tokenRing(Math.min(k, 100), 300_000);
        return tokenRing(k, n);
    }

    private static long tokenRing(int k, long n) throws Throwable {
        var took = new AtomicLong();
        inside(() -> {
            var into = new SynchronousQueue<Long>();
            var from = links(into, k - 1);
            long token = 0;
            long warm = n / k / 10 + 1;
            long start = 0;
            for (long lap = 0; lap < n / k + warm; lap++) {
                if (lap == warm) start = System.nanoTime();
                into.put(token);
                token = from.take();
            }
            took.set(System.nanoTime() - start);
            check(token == (n / k + warm) * (k - 1));
        });
        return took.get();
    }

    private static long messages(int k, long n) throws Throwable {
        messageChain(Math.min(k, 100), 300_000);
        return messageChain(k, n);
    }

    private static long messageChain(int k, long n) throws Throwable {
        var took = new AtomicLong();
        long count = n / (k + 1);
        inside(() -> {
            var into = new SynchronousQueue<Long>();
            var from = links(into, k);
            var done = new SynchronousQueue<Long>();
            Runnable sink = () -> {
                try {
                    done.put(from.take());
                    long sum = 0;
                    for (long i = 0; i < count; i++) sum += from.take();
                    done.put(sum);
                } catch (InterruptedException error) {
                    throw new AssertionError(error);
                }
            };
            start(sink);
            into.put(0L);
            done.take();
            long start = System.nanoTime();
            for (long i = 0; i < count; i++) into.put(i);
            long sum = done.take();
            took.set(System.nanoTime() - start);
            check(sum == count * (count - 1) / 2 + count * k);
        });
        return took.get();
    }

    private static void check(boolean right) {
        if (!right) throw new AssertionError("a message was lost, doubled or changed");
    }

    private interface Body {
        void run() throws Throwable;
    }

    private static Thread start(Runnable body) throws Throwable {
        return (Thread) START.invokeExact(body);
    }

    // Runs a body in a virtual thread and waits for it.
    private static void inside(Body body) throws Throwable {
        start(() -> {
            try {
                body.run();
            } catch (Throwable error) {
                throw new AssertionError(error);
            }
        }).join();
    }
}
