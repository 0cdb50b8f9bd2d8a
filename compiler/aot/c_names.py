"""Names of C: what a function or parameter is called in a header where C, C++ or their library has its name already.

The one table of such names.  A parameter is in nobody's way unless its name is a word of the language, a type that
the header uses, or a macro; a function must also not have the name of a function that programs link with.
"""

from __future__ import annotations

import re

__all__ = ["SpelledNames", "free_symbol", "is_taken"]

#: Words of C23 and C++23; those with a leading underscore are not needed here, as no such name is kept.
_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class compl
    concept const const_cast consteval constexpr constinit continue co_await co_return co_yield decltype default delete
    do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile
    wchar_t while xor xor_eq
""".split()

#: Types of the headers that ours includes, and macros that stand for a value wherever their name does.
_TYPES_AND_MACROS = """
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t size_t
    ptrdiff_t max_align_t nullptr_t std main BUFSIZ CHAR_BIT CLOCKS_PER_SEC DECIMAL_DIG EOF FILENAME_MAX FOPEN_MAX
    HUGE_VAL HUGE_VALF HUGE_VALL I INFINITY L_tmpnam MB_CUR_MAX MB_LEN_MAX NAN NDEBUG NULL ONCE_FLAG_INIT RAND_MAX
    SEEK_CUR SEEK_END SEEK_SET SNAN TMP_MAX WEOF complex errno imaginary linux math_errhandling noreturn stderr stdin
    stdout unix unreachable
""".split()
#: Families of macros that C keeps for its own headers, and the names of our header's own.
_MACRO_FAMILIES = re.compile(
    r"(txc|TXC)_\w+|E[0-9A-Z]\w*|SIG_?[A-Z]\w*|(LC|FE|FP|TIME|ATOMIC|MATH|FLT|DBL|LDBL|DEC\d*)_[A-Z0-9]\w*"
    r"|(BOOL|S?CHAR|UCHAR|U?(SHRT|LONG|LLONG)|S?SIZE|PTRDIFF|SIG_ATOMIC|WCHAR|WINT|PATH|NAME|IOV)_(MAX|MIN|WIDTH)"
    r"|U?INT(MAX|PTR|_FAST\d+|_LEAST\d+|\d+)?_(MAX|MIN|WIDTH|C)|(PRI|SCN)[a-zX]\w*|M_(E|LOG\w+|LN\w+|PI\w*|[12]_\w+|SQRT\w+)"
)

#: Functions of the mathematical library, which are there for double, float (f) and long double (l).
_MATHEMATICAL = """
    acos acosh acospi asin asinh asinpi atan atan2 atan2pi atanh atanpi cabs cacos cacosh canonicalize carg casin casinh
    catan catanh cbrt ccos ccosh ceil cexp cimag clog clog10 compoundn conj copysign cos cosh cospi cpow cproj creal
    csin csinh csqrt ctan ctanh drem erf erfc exp exp10 exp10m1 exp2 exp2m1 expm1 fabs fdim floor fma fmax fmaximum fmin
    fminimum fmod frexp fromfp fromfpx gamma getpayload hypot ilogb j0 j1 jn ldexp lgamma llogb llrint llround log log10
    log10p1 log1p log2 log2p1 logb logp1 lrint lround modf nan nearbyint nextafter nextdown nexttoward nextup pow pown
    powr remainder remquo rint rootn round roundeven rsqrt scalb scalbln scalbn significand sin sincos sinh sinpi sqrt
    tan tanh tanpi tgamma trunc ufromfp ufromfpx y0 y1 yn
""".split()

#: Other functions of the C library and of POSIX, function-like macros among them.
_FUNCTIONS = """
    abort abs accept access acct alarm aligned_alloc alloca asctime asprintf assert at_quick_exit atexit atof atoi atol
    atoll basename bcmp bcopy bind brk bsearch btowc bzero c16rtomb c32rtomb call_once calloc catclose catgets catopen
    ceill chdir chmod chown chroot clearenv clearerr clock clone close closedir closelog confstr connect creat crypt
    ctermid ctime daemon difftime dirname div dladdr dlclose dlerror dlopen dlsym dprintf drand48 dup dup2 ecvt encrypt
    endgrent endpwent erand48 err error errx execl execle execlp execv execve execvp exit fadd fchdir fchmod fchown
    fclose fcntl fcvt fdatasync fdiv fdopen feclearexcept fegetenv fegetexceptflag fegetround feholdexcept feof
    feraiseexcept ferror fesetenv fesetexceptflag fesetround fetestexcept feupdateenv fflush ffs fgetc fgetpos fgets
    fgetwc fgetws fileno flock flockfile fmtmsg fmul fnmatch fopen fork fpathconf fpclassify fprintf fputc fputs fputwc
    fputws fread free freeaddrinfo freopen fscanf fseek fseeko fsetpos fstat fsub fsync ftell ftello ftime ftok
    ftruncate ftw funlockfile fwide fwprintf fwrite fwscanf gai_strerror gcvt getaddrinfo getc getchar getcwd getdate
    getdelim getegid getenv geteuid getgid getgrnam getgroups gethostbyname gethostname getitimer getline getlogin
    getnameinfo getopt getpagesize getpeername getpgid getpgrp getpid getppid getpriority getpwnam getpwuid getrlimit
    getrusage gets getservbyname getsid getsockname getsockopt getsubopt gettimeofday getuid getw getwc getwchar
    getxattr glob globfree gmtime grantpt gsignal hcreate hdestroy hsearch htonl htons iconv imaxabs imaxdiv index
    inet_addr inet_ntoa inet_ntop inet_pton initgroups initstate insque ioctl isalnum isalpha isascii isatty isblank
    iscanonical iscntrl isdigit iseqsig isfinite isgraph isgreater isgreaterequal isinf isless islessequal islessgreater
    islower isnan isnormal isprint ispunct issignaling isspace issubnormal isunordered isupper iswalnum iswalpha
    iswblank iswcntrl iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit iszero
    jrand48 kill killpg l64a labs lchown lcong48 ldiv lfind link linkat listen llabs lldiv localeconv localtime lockf
    longjmp lrand48 lsearch lseek lstat madvise mallinfo malloc mblen mbrlen mbrtoc16 mbrtoc32 mbrtowc mbsinit mbsrtowcs
    mbstowcs mbtowc memalignment memccpy memchr memcmp memcpy memfrob memmem memmove mempcpy memset memset_explicit
    mincore mkdir mkdtemp mkfifo mknod mkstemp mktemp mktime mlock mlockall mmap mount mprotect mrand48 mremap msgctl
    msgget msgrcv msgsnd msync munlock munmap nanosleep nftw nice nrand48 ntohl ntohs offsetof on_exit open openat
    opendir openlog openpty pathconf pause pclose perror personality pipe poll popen posix_memalign ppoll prctl pread
    printf profil pselect psignal ptrace putc putchar putenv puts putw putwc putwchar pwrite qsort quick_exit raise rand
    rand_r random read readdir readlink readv realloc realpath reboot recv recvfrom recvmsg regcomp regerror regexec
    regfree remove remque rename renameat reset rewind rewinddir rindex rmdir sbrk scandir scanf sched_yield seed48
    seekdir select semctl semget semop send sendfile sendmsg sendto setbuf setegid setenv seteuid setgid setgroups
    sethostname setitimer setjmp setlocale setpgid setpriority setpwent setregid setreuid setrlimit setsid setsockopt
    setstate setuid setvbuf shmat shmctl shmdt shmget shutdown sigaction sigaddset sigaltstack sigdelset sigemptyset
    sigfillset sigismember signal signbit sigpause sigpending sigprocmask sigqueue sigsuspend sigwait sleep snprintf
    socket socketpair splice sprintf srand srand48 srandom sscanf stat statfs statvfs stime stpcpy stpncpy strcasecmp
    strcat strchr strcmp strcoll strcpy strcspn strdup strerror strfmon strfromd strfromf strfroml strftime strlen
    strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strptime strrchr strsep strsignal strspn strstr strtod
    strtof strtoimax strtok strtok_r strtol strtold strtoll strtoul strtoull strtoumax strxfrm swab swapoff swapon
    swprintf swscanf symlink sync syscall sysconf sysinfo syslog system tcgetattr tcsetattr tdelete tee telldir tempnam
    tfind time timegm timer_create times timespec_get timespec_getres tmpfile tmpnam toascii tolower totalorder
    totalordermag toupper towctrans towlower towupper truncate tsearch ttyname twalk tzset ualarm ulimit umask umount
    uname ungetc ungetwc unlink unlinkat unsetenv usleep utime utimes va_arg va_copy va_end va_start vasprintf vdprintf
    verr verrx vfork vfprintf vfscanf vfwprintf vfwscanf vhangup vprintf vscanf vsnprintf vsprintf vsscanf vswprintf
    vswscanf vwarn vwprintf vwscanf wait wait3 wait4 waitid waitpid warn warnx wcpcpy wcrtomb wcscat wcschr wcscmp
    wcscoll wcscpy wcscspn wcsdup wcsftime wcslen wcsncat wcsncmp wcsncpy wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod
    wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul wcstoull wcstoumax wcsxfrm wctob wctomb wctrans
    wctype wmemchr wmemcmp wmemcpy wmemmove wmemset wordexp wprintf write writev wscanf
""".split()
_FUNCTION_FAMILIES = re.compile(r"(atomic|cnd|mtx|pthread|sem|stdc|thrd|tss)_[a-z]\w*")

_PARAMETERS = frozenset([*_KEYWORDS, *_TYPES_AND_MACROS])
_SYMBOLS = _PARAMETERS.union(_FUNCTIONS, (f"{name}{kind}" for name in _MATHEMATICAL for kind in ("", "f", "l")))


def is_taken(name: str, symbol: bool = False) -> bool:
    """Whether C, C++ or our header means something else by a name; `symbol`: as that of a function that is linked."""
    if _MACRO_FAMILIES.fullmatch(name):
        return True
    return name in _SYMBOLS or bool(_FUNCTION_FAMILIES.fullmatch(name)) if symbol else name in _PARAMETERS


def free_symbol(name: str) -> str:
    """What a function of the program is called in C: its name, after ``f_`` where that is C's or starts with ``_``."""
    if name[:1] == "_":
        return f"f{name}"
    return f"f_{name}" if is_taken(name, symbol=True) else name


class SpelledNames:
    """Parameter names that C takes, each given once; `changed` has the program's name of those that differ."""

    def __init__(self, taken: set[str]):
        self._taken = set(taken)
        self.changed: dict[str, str] = {}

    def __call__(self, wanted: str) -> str:
        """The name in C: ``p_`` before one that is C's, ``_`` for other letters, a number after one that is taken."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", wanted.lstrip("$"))
        if not plain or plain[0] in "0123456789_" or is_taken(plain):
            plain = f"p{'' if plain[:1] == '_' else '_'}{plain}"
        name, n = plain, 1
        while name in self._taken:
            n += 1
            name = f"{plain}_{n}"
        self._taken.add(name)
        if name != wanted.lstrip("$"):
            self.changed[name] = wanted.lstrip("$")
        return name
