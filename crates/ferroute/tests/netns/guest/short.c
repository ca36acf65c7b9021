/* Sets the extended state of a child from an image that is shorter than the host's, and reads it back.
 *
 * Exits with 0 if the child has the caller's first bytes and kept the others, with the error's number if the host
 * refuses the image, and with 255 if the state is another.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Offsets in an image. Without the state of AVX, which follows the header, it is as short as an image can be. */
enum { XMM5 = 160 + 5 * 16, HEADER = 512, AVX = 576, SHORT = AVX };
/* Bits of the header: these registers are not in their first state. */
enum { HAS_XMM = 2, HAS_AVX = 4 };

static char before[16384], after[16384];

static long regset(enum __ptrace_request request, pid_t child, char *bytes, size_t *length)
{
	struct iovec image = { bytes, *length };
	long result = ptrace(request, child, (void *)NT_X86_XSTATE, &image);

	*length = image.iov_len;
	return result;
}

static int check(pid_t child)
{
	size_t whole = sizeof before, again = sizeof after, length = SHORT;

	if (regset(PTRACE_GETREGSET, child, before, &whole))
		return errno;
	before[HEADER] |= HAS_XMM | HAS_AVX;
	memset(before + AVX, 0xa5, 16);
	if (regset(PTRACE_SETREGSET, child, before, &whole))
		return errno;
	memset(before + XMM5, 0x5a, 16);
	if (regset(PTRACE_SETREGSET, child, before, &length))
		return errno;
	if (regset(PTRACE_GETREGSET, child, after, &again))
		return errno;
	return again == whole && memcmp(before, after, whole) == 0 ? 0 : 255;
}

int main(void)
{
	pid_t child = fork();

	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	int result = check(child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return result;
}
