// The Java peer: virtual threads on one carrier thread, and the continuation beneath them.
//
//   Hop resume 1 N    N round trips: run a continuation that yields
//   Hop hop K N       N hops among K virtual threads that yield
//   Hop create 1 N    N virtual threads created, run to their end and joined
//
// Prints `BENCH NS VERSION`. What is newer than Java 17 is reached through method handles, so that
// an older compiler will do; constant handles cost nothing once compiled.

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
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
            System.err.println("usage: Hop resume|hop|create K N");
            System.exit(2);
        }
        int k = Integer.parseInt(args[1]);
        long n = Long.parseLong(args[2]);
        long took = switch (args[0]) {
            case "resume" -> resume(n);
            case "hop" -> hop(k, n);
            case "create" -> create(n);
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
