/* A `ptrace` for User Mode Linux before 6.13, as a library to preload: sets the extended state of a process from an
 * image that is shorter than the host's.
 *
 * That kernel sets the floating-point registers of its processes from an XSAVE image of 2,696 bytes, the size that
 * AVX-512 and protection keys need. The host takes images of its own size only (Linux, xstateregs_set: EFAULT), and
 * AMX makes its own 11 KB. So the first bytes come from the caller, and the rest from the process as it is: a guest
 * that does not know this state has not changed it. Images as long as the host's, and all other requests, go to the
 * host as they are.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Longer than any image that exists: with all tiles of AMX it has 11,008 bytes. */
enum { LONGEST = 16384 };

static long request_host(long request, long pid, void *address, void *data)
{
	return syscall(SYS_ptrace, request, pid, address, data);
}

/* Sets the extended state from an image, which may be shorter than the host's. */
static long set_extended_state(long pid, void *set, struct iovec *image)
{
	static _Thread_local char bytes[LONGEST] __attribute__((aligned(64)));
	struct iovec whole = { bytes, sizeof bytes };

	if (request_host(PTRACE_GETREGSET, pid, set, &whole) == 0 && image->iov_len < whole.iov_len) {
		memcpy(bytes, image->iov_base, image->iov_len);
		return request_host(PTRACE_SETREGSET, pid, set, &whole);
	}
	return request_host(PTRACE_SETREGSET, pid, set, image);
}

/* The library function that this one stands for takes the value of PEEK requests from an address of its own. */
static long peek(long request, long pid, void *address)
{
	long value;
	long failed = request_host(request, pid, address, &value);

	if (failed)
		return failed;
	errno = 0;
	return value;
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list arguments;
	va_start(arguments, request);
	long pid = va_arg(arguments, pid_t);
	void *address = va_arg(arguments, void *);
	void *data = va_arg(arguments, void *);
	va_end(arguments);

	switch (request) {
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
	case PTRACE_PEEKUSER:
		return peek(request, pid, address);
	case PTRACE_SETREGSET:
		if (address == (void *)NT_X86_XSTATE)
			return set_extended_state(pid, address, data);
		/* fallthrough */
	default:
		return request_host(request, pid, address, data);
	}
}
