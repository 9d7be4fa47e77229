/**
 * The system calls that a box is refused, as a BPF program for `bwrap --seccomp` (seccomp(2)): what namespaces do not divide
 * (keyrings, AF_VSOCK), what takes memory that no limit here counts (memfd, System V shared memory), and parts of the
 * kernel that commands have no use for and that faults are most often found in.
 */
import { constants } from 'node:os';

interface Architecture {
  /** AUDIT_ARCH of <linux/audit.h>. */
  readonly audit: number;
  /** Calls from here on are those of another ABI (x32). */
  readonly foreignFrom: number | undefined;
  readonly socket: number;
  readonly clone: number;
  readonly clone3: number;
  readonly ioctl: number;
  /** Refused altogether. */
  readonly refused: readonly number[];
}

/** Numbers that are the same everywhere, from pidfd_send_signal (424) on. */
const UNIFIED = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  clone3: 435,
  pidfd_getfd: 438,
  mount_setattr: 442,
  quotactl_fd: 443,
  memfd_secret: 447,
  open_tree_attr: 467,
} as const;

const X64 = {
  shmget: 29,
  shmat: 30,
  shmctl: 31,
  semget: 64,
  msgget: 68,
  ptrace: 101,
  syslog: 103,
  personality: 135,
  pivot_root: 155,
  adjtimex: 159,
  chroot: 161,
  acct: 163,
  settimeofday: 164,
  mount: 165,
  umount2: 166,
  swapon: 167,
  swapoff: 168,
  reboot: 169,
  sethostname: 170,
  setdomainname: 171,
  iopl: 172,
  ioperm: 173,
  init_module: 175,
  delete_module: 176,
  quotactl: 179,
  lookup_dcookie: 212,
  clock_settime: 227,
  mq_open: 240,
  kexec_load: 246,
  add_key: 248,
  request_key: 249,
  keyctl: 250,
  unshare: 272,
  move_pages: 279,
  vmsplice: 278,
  perf_event_open: 298,
  fanotify_init: 300,
  name_to_handle_at: 303,
  open_by_handle_at: 304,
  clock_adjtime: 305,
  setns: 308,
  process_vm_readv: 310,
  process_vm_writev: 311,
  kcmp: 312,
  finit_module: 313,
  memfd_create: 319,
  kexec_file_load: 320,
  bpf: 321,
  userfaultfd: 323,
} as const;

const ARM64 = {
  lookup_dcookie: 18,
  umount2: 39,
  mount: 40,
  pivot_root: 41,
  chroot: 51,
  quotactl: 60,
  vmsplice: 75,
  acct: 89,
  personality: 92,
  unshare: 97,
  kexec_load: 104,
  init_module: 105,
  delete_module: 106,
  clock_settime: 112,
  syslog: 116,
  ptrace: 117,
  reboot: 142,
  sethostname: 161,
  setdomainname: 162,
  settimeofday: 170,
  adjtimex: 171,
  mq_open: 180,
  msgget: 186,
  semget: 190,
  shmget: 194,
  shmctl: 195,
  shmat: 196,
  add_key: 217,
  request_key: 218,
  keyctl: 219,
  swapon: 224,
  swapoff: 225,
  move_pages: 239,
  perf_event_open: 241,
  fanotify_init: 262,
  name_to_handle_at: 264,
  open_by_handle_at: 265,
  clock_adjtime: 266,
  setns: 268,
  process_vm_readv: 270,
  process_vm_writev: 271,
  kcmp: 272,
  finit_module: 273,
  memfd_create: 279,
  bpf: 280,
  userfaultfd: 282,
  kexec_file_load: 294,
} as const;

/** Asked again later, with other means: glibc then uses `clone`, whose flags can be looked at. */
const { clone3, ...UNIFIED_REFUSED } = UNIFIED;

const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, Architecture>>> = {
  x64: {
    audit: 0xc000003e,
    foreignFrom: 0x40000000,
    socket: 41,
    clone: 56,
    clone3,
    ioctl: 16,
    refused: [...Object.values(X64), ...Object.values(UNIFIED_REFUSED)],
  },
  arm64: {
    audit: 0xc00000b7,
    foreignFrom: undefined,
    socket: 198,
    clone: 220,
    clone3,
    ioctl: 29,
    refused: [...Object.values(ARM64), ...Object.values(UNIFIED_REFUSED)],
  },
};

/** Whether there is a filter for the processors of this machine. */
export function hasSeccompFilter(): boolean {
  return ARCHITECTURES[process.arch] !== undefined;
}

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const REFUSE = 0x00050000;
const { EPERM, ENOSYS, EAFNOSUPPORT } = constants.errno;

/** `struct seccomp_data`; of arguments the lower half, on these little-endian machines. */
const NUMBER_AT = 0;
const AUDIT_AT = 4;
const argumentAt = (index: number) => 16 + 8 * index;

/** AF_UNIX, AF_INET, AF_INET6 and, for lists of interfaces, AF_NETLINK. */
const SOCKET_FAMILIES = [1, 2, 10, 16];
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000;
/** TIOCSTI and TIOCLINUX: to put characters into a terminal, as though somebody had typed them. */
const TYPING_REQUESTS = [0x5412, 0x541c];

interface Instruction {
  readonly code: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
  readonly value: number;
}

/** The program's bytes. Throws where `hasSeccompFilter` says that there is none. */
export function makeSeccompFilter(): Buffer {
  const architecture = ARCHITECTURES[process.arch];
  if (architecture === undefined) throw new Error(`there is no seccomp filter for ${process.arch}`);
  const program = writeProgram(architecture);
  const bytes = Buffer.alloc(8 * program.length);
  program.forEach(({ code, ifTrue, ifFalse, value }, index) => {
    bytes.writeUInt16LE(code, 8 * index);
    bytes.writeUInt8(ifTrue, 8 * index + 2);
    bytes.writeUInt8(ifFalse, 8 * index + 3);
    bytes.writeUInt32LE(value >>> 0, 8 * index + 4);
  });
  return bytes;
}

function writeProgram({ audit, foreignFrom, socket, clone, clone3: cloneNew, ioctl, refused }: Architecture) {
  const load = (at: number): Instruction => ({ code: LOAD, ifTrue: 0, ifFalse: 0, value: at });
  const answer = (value: number): Instruction => ({ code: RETURN, ifTrue: 0, ifFalse: 0, value });
  /** Goes on with the next instruction where the value is this, else passes over so many. */
  const unless = (value: number, skipped: number): Instruction => ({
    code: JUMP_EQUAL,
    ifTrue: 0,
    ifFalse: skipped,
    value,
  });
  /** Looks at an argument of one call. */
  const look = (call: number, rules: readonly Instruction[]) => [unless(call, rules.length), ...rules];
  return [
    load(AUDIT_AT),
    { code: JUMP_EQUAL, ifTrue: 1, ifFalse: 0, value: audit },
    answer(KILL_PROCESS),
    load(NUMBER_AT),
    ...(foreignFrom === undefined
      ? []
      : [{ code: JUMP_AT_LEAST, ifTrue: 0, ifFalse: 1, value: foreignFrom }, answer(REFUSE | ENOSYS)]),
    ...refused.flatMap((call) => [unless(call, 1), answer(REFUSE | EPERM)]),
    ...look(cloneNew, [answer(REFUSE | ENOSYS)]),
    ...look(clone, [
      load(argumentAt(0)),
      { code: JUMP_ANY_BIT, ifTrue: 0, ifFalse: 1, value: NEW_NAMESPACES },
      answer(REFUSE | EPERM),
      answer(ALLOW),
    ]),
    ...look(socket, [
      load(argumentAt(0)),
      ...SOCKET_FAMILIES.flatMap((family) => [unless(family, 1), answer(ALLOW)]),
      answer(REFUSE | EAFNOSUPPORT),
    ]),
    ...look(ioctl, [
      load(argumentAt(1)),
      ...TYPING_REQUESTS.flatMap((request) => [unless(request, 1), answer(REFUSE | EPERM)]),
      answer(ALLOW),
    ]),
    answer(ALLOW),
  ];
}
