// The Boost peer.
//
//   hop resume 1 N    N round trips: boost::context::fiber, resumed and resuming back
//   hop hop K N       N hops in a ring of K boost::fibers::fiber that yield
//   hop create 1 N    N boost::context::fiber created on a pooled stack and run to their end
//   hop ring K N      N hops of a token round a ring of K fibers, over unbuffered channels
//   hop chain K N     N hops of messages down a chain of K fibers, over unbuffered channels
//
// Prints `BENCH NS VERSION`.

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <boost/fiber/all.hpp>
#include <boost/version.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace ctx = boost::context;
namespace fib = boost::fibers;
using Clock = std::chrono::steady_clock;

constexpr std::size_t stack_bytes = 16 * 1024;

static Clock::duration resume(long, long n) {
    long value = 0;
    bool finish = false;
    ctx::fiber co([&](ctx::fiber &&back) {
        while (!finish) {
            ++value;
            back = std::move(back).resume();
        }
        return std::move(back);
    });
    auto round_trips = [&](long count) {
        for (long i = 0; i < count; ++i) co = std::move(co).resume();
    };
    round_trips(n / 10 + 1);
    auto start = Clock::now();
    round_trips(n);
    auto took = Clock::now() - start;
    finish = true;
    co = std::move(co).resume();
    return took;
}

// Members wait until all have started, make their rounds, wait until all have made theirs: the
// clock runs from the last start to the last end.
static Clock::duration hop(long k, long n) {
    const long rounds = n / k;
    long arrived = 0, finished = 0;
    Clock::time_point start, end;
    auto member = [&] {
        if (++arrived == k) start = Clock::now();
        while (arrived < k) boost::this_fiber::yield();
        for (long r = 0; r < rounds; ++r) boost::this_fiber::yield();
        if (++finished == k) end = Clock::now();
        while (finished < k) boost::this_fiber::yield();
    };
    std::vector<fib::fiber> ring;
    ring.reserve(k);
    for (long i = 0; i < k; ++i)
        ring.emplace_back(std::allocator_arg, fib::fixedsize_stack(stack_bytes), member);
    for (auto &each : ring) each.join();
    return end - start;
}

static Clock::duration create(long, long n) {
    ctx::pooled_fixedsize_stack pool(stack_bytes);
    long value = 0;
    auto batch = [&](long count) {
        for (long i = 0; i < count; ++i) {
            ctx::fiber co(std::allocator_arg, pool, [&](ctx::fiber &&back) {
                ++value;
                return std::move(back);
            });
            co = std::move(co).resume();
        }
    };
    batch(n / 10 + 1);
    auto start = Clock::now();
    batch(n);
    return Clock::now() - start;
}

using Channel = fib::unbuffered_channel<long>;

static void check(bool right) {
    if (right) return;
    std::fprintf(stderr, "a message was lost, doubled or changed\n");
    std::exit(1);
}

// So many fibers, each of which passes on what it receives, plus one; the last two channels are
// where to send to and where to receive from.
struct Line {
    std::vector<std::unique_ptr<Channel>> channels;
    std::vector<fib::fiber> links;

    explicit Line(long count) {
        for (long i = 0; i <= count; ++i) channels.push_back(std::make_unique<Channel>());
        for (long i = 0; i < count; ++i)
            links.emplace_back(std::allocator_arg, fib::fixedsize_stack(stack_bytes),
                               [&from = *channels[i], &to = *channels[i + 1]] {
                                   long value;
                                   while (from.pop(value) == fib::channel_op_status::success)
                                       to.push(value + 1);
                                   to.close();
                               });
    }
    Channel &into() { return *channels.front(); }
    Channel &from() { return *channels.back(); }
    ~Line() {
        into().close();
        for (auto &each : links) each.join();
    }
};

static Clock::duration ring(long k, long n) {
    Line line(k - 1);
    long token = 0, made = 0;
    auto laps = [&](long count) {
        for (long i = 0; i < count; ++i, ++made) {
            line.into().push(token);
            token = line.from().value_pop();
        }
    };
    laps(n / k / 10 + 1);
    auto start = Clock::now();
    laps(n / k);
    auto took = Clock::now() - start;
    check(token == made * (k - 1));
    return took;
}

static Clock::duration chain(long k, long n) {
    const long messages = n / (k + 1);
    Line line(k);
    Channel done;
    fib::fiber sink([&] {
        done.push(line.from().value_pop());
        long sum = 0;
        for (long i = 0; i < messages; ++i) sum += line.from().value_pop();
        done.push(sum);
    });
    line.into().push(0);
    done.value_pop();
    auto start = Clock::now();
    for (long i = 0; i < messages; ++i) line.into().push(i);
    long sum = done.value_pop();
    auto took = Clock::now() - start;
    check(sum == messages * (messages - 1) / 2 + messages * k);
    sink.join();
    return took;
}

int main(int argc, char **argv) {
    long k = argc == 4 ? std::atol(argv[2]) : 0;
    long n = argc == 4 ? std::atol(argv[3]) : 0;
    if (k < 1 || n < 1) {
        std::fprintf(stderr, "usage: hop resume|hop|create|ring|chain K N\n");
        return 2;
    }
    Clock::duration took{};
    if (!std::strcmp(argv[1], "resume")) took = resume(k, n);
    else if (!std::strcmp(argv[1], "hop")) took = hop(k, n);
    else if (!std::strcmp(argv[1], "create")) took = create(k, n);
    else if (!std::strcmp(argv[1], "ring")) took = ring(k, n);
    else if (!std::strcmp(argv[1], "chain")) took = chain(k, n);
    else {
        std::fprintf(stderr, "unknown bench %s\n", argv[1]);
        return 2;
    }
    auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
    std::printf("%s %.3f %d.%d.%d\n", argv[1], double(ns) / double(n), BOOST_VERSION / 100000,
                BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100);
}
