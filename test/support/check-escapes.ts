/**
 * What commands do that want out of their box, each in a real one: started by the user of the tests and, where that is root, by another
 * user as well. Each prints ESCAPED where it succeeds; what it may not have changed is looked at from outside, too.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Share } from '../conformance/take-turns.ts';
import { whyNoBoxes } from './sandbox.ts';

const skip = await whyNoBoxes();
const isRoot = process.getuid?.() === 0;
/** Debian's, and most others'. */
const NOBODY = 65_534;

interface Escape {
  readonly name: string;
  readonly command: string;
  /** In a program that Python runs: `check(call)` prints ESCAPED where the call succeeds. */
  readonly python?: string;
}

/** Temporary files of whoever starts boxes: of nobody, who may not write to others'. */
let scratch = '';
const HOST_FILE = join(tmpdir(), `ironcraft-escape-${process.pid}`);
const CORE_PATTERN = '/proc/sys/kernel/core_pattern';

/** `$PORT`: something listens there, outside. `$HOST_PID`: of a process outside. */
const ESCAPES: readonly Escape[] = [
  { name: 'write the core pattern', command: `echo '|/bin/sh' > ${CORE_PATTERN} && echo ESCAPED` },
  {
    name: 'write any kernel setting',
    command: 'for f in $(find /proc/sys -type f -writable); do echo ESCAPED $f; done',
  },
  { name: 'ask the kernel to do something', command: 'echo h > /proc/sysrq-trigger && echo ESCAPED' },
  {
    name: 'read the environment of process 1',
    command: 'tr "\\0" "\\n" < /proc/1/environ | grep -q OUTSIDE && echo ESCAPED',
  },
  {
    name: 'find the command line of a process outside',
    // Brackets, so that grep does not find itself.
    command: 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -q "run-boxes[.]ts" && echo ESCAPED',
  },
  { name: 'see a process outside', command: 'test -e /proc/$HOST_PID/root/etc/hostname && echo ESCAPED' },
  { name: 'end a process outside', command: 'kill -9 $HOST_PID && echo ESCAPED' },
  { name: 'read passwords of the machine', command: 'cat /etc/shadow && echo ESCAPED' },
  { name: 'read users of the machine', command: 'grep -q root: /etc/passwd && echo ESCAPED' },
  { name: 'read a file of the machine', command: `cat ${HOST_FILE} && echo ESCAPED` },
  { name: 'read a file of the machine through process 1', command: `cat /proc/1/root${HOST_FILE} && echo ESCAPED` },
  {
    name: 'read a file of the machine through a working folder',
    command: `cat /proc/1/cwd/../..${HOST_FILE} && echo ESCAPED`,
  },
  { name: 'write to what programs come from', command: 'touch /usr/bin/x /usr/lib/x /bin/x && echo ESCAPED' },
  { name: 'write to the top of the file system', command: 'touch /x || mkdir /y && echo ESCAPED' },
  { name: 'write to the devices', command: 'touch /dev/x && echo ESCAPED' },
  { name: 'write to /etc', command: 'echo x >> /etc/passwd && echo ESCAPED' },
  { name: 'make it writable again', command: 'mount -o remount,rw /usr && echo ESCAPED' },
  { name: 'mount a file system', command: 'mount -t tmpfs none /tmp && echo ESCAPED' },
  { name: 'take a mount away', command: 'umount /proc || umount -l /usr && echo ESCAPED' },
  { name: 'make a device', command: 'mknod /tmp/d b 254 0 && echo ESCAPED' },
  {
    name: 'read a disk',
    command:
      'for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmem /dev/kvm /dev/fuse /dev/net/tun; do test -e $d && echo ESCAPED $d; done',
  },
  { name: 'look at the hardware', command: 'ls /sys/* && echo ESCAPED' },
  { name: 'become another user', command: 'setpriv --reuid=0 true || su -c true && echo ESCAPED' },
  {
    name: 'use a program with the rights of its owner',
    command:
      'for p in $(find /usr -perm -4000 2>/dev/null); do $p --help; done; grep -q "NoNewPrivs:.1" /proc/self/status || echo ESCAPED',
  },
  {
    name: 'have capabilities',
    command: 'grep -E "^Cap(Inh|Prm|Eff|Amb):" /proc/self/status | grep -vq 0000000000000000 && echo ESCAPED',
  },
  { name: 'make a user namespace', command: 'unshare --user --map-root-user true && echo ESCAPED' },
  { name: 'make a mount namespace', command: 'unshare --mount true && echo ESCAPED' },
  { name: 'make a box in the box', command: 'bwrap --ro-bind / / true && echo ESCAPED' },
  { name: 'enter a namespace of process 1', command: 'nsenter --target 1 --mount true && echo ESCAPED' },
  { name: 'change the root folder', command: 'chroot /usr /bin/true && echo ESCAPED' },
  { name: 'reach the loopback of the machine', command: 'exec 3<>/dev/tcp/127.0.0.1/$PORT && echo ESCAPED' },
  { name: 'reach the metadata of a cloud', command: 'exec 3<>/dev/tcp/169.254.169.254/80 && echo ESCAPED' },
  {
    name: 'reach the internet',
    command:
      'exec 3<>/dev/tcp/1.1.1.1/53 && echo ESCAPED; test $(ls /proc/self/net/dev_mcast | wc -l) = 1; tail -n +3 /proc/net/dev | grep -v "lo:" && echo ESCAPED',
  },
  { name: 'send to the network', command: 'echo x > /dev/udp/8.8.8.8/53 && echo ESCAPED' },
  {
    name: 'reach the machine under it (AF_VSOCK)',
    command: '',
    python: 'check(lambda: socket.socket(40, socket.SOCK_STREAM))',
  },
  {
    name: 'open a raw socket',
    command: '',
    python:
      'check(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)); check(lambda: socket.socket(17, socket.SOCK_RAW))',
  },
  {
    name: 'use the crypto sockets of the kernel',
    command: '',
    python: 'check(lambda: socket.socket(38, socket.SOCK_SEQPACKET))',
  },
  { name: 'trace process 1', command: '', python: 'syscall(101, 16, 1, 0, 0)' },
  {
    name: 'read the memory of process 1',
    command: '',
    python:
      'check(lambda: open("/proc/1/mem", "rb").read(1) and 1/0 or None) if False else syscall(310, 1, 0, 0, 0, 0, 0)',
  },
  {
    name: 'read keyrings',
    command: 'cat /proc/keys | grep -q . && test -n "$(keyctl show 2>/dev/null)" && echo ESCAPED',
    python: 'syscall(250, 0, -3, 0); syscall(248, b"user", b"x", b"y", 1, -3)',
  },
  {
    name: 'load a program into the kernel',
    command: '',
    python: 'syscall(321, 0, 0, 0); syscall(298, 0, 0, -1, -1, 0)',
  },
  { name: 'use io_uring', command: '', python: 'syscall(425, 8, ctypes.create_string_buffer(120))' },
  {
    name: 'make memory that no limit counts',
    command: '',
    python: 'syscall(319, b"x", 0); syscall(29, 0, 1 << 20, 0o1600)',
  },
  { name: 'open a file by its handle', command: '', python: 'syscall(304, -100, ctypes.create_string_buffer(64), 0)' },
  {
    name: 'make namespaces with clone',
    command: '',
    python:
      'pid = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)\nif pid == 0: os._exit(0)\nif pid > 0: print("ESCAPED")',
  },
  {
    name: 'type into a terminal',
    command: '',
    python: 'import fcntl, pty\nm, s = pty.openpty()\ncheck(lambda: fcntl.ioctl(s, 0x5412, b"x"))',
  },
  { name: 'signal whoever started it', command: 'kill -9 $PPID; kill -9 1; kill -9 0 -1; echo ESCAPED' },
  {
    name: 'raise its limits',
    command: 'ulimit -Hu 100000 || ulimit -Hd unlimited || ulimit -Hf unlimited && echo ESCAPED',
  },
  {
    name: 'set the clock',
    command: 'date -s 2030-01-01 && echo ESCAPED',
    python: 'check(lambda: time.clock_settime(time.CLOCK_REALTIME, 0))',
  },
  {
    name: 'set the name of the machine',
    command: 'hostname escaped && echo ESCAPED',
    python: 'check(lambda: socket.sethostname("escaped"))',
  },
  {
    name: 'find an open file of the server',
    command:
      'for f in /proc/self/fd/*; do n=$(basename $f); test "$n" -gt 2 && test "$n" -lt 250 && readlink $f | grep -vE "^/proc|^/box|^/dev/null|pipe:" && echo ESCAPED; done',
  },
];

const PYTHON = `import ctypes, os, socket, time
libc = ctypes.CDLL(None, use_errno=True)
def check(call):
    try: call()
    except BaseException: return
    print("ESCAPED")
def syscall(*args):
    if libc.syscall(*args) >= 0: print("ESCAPED")
`;

function commandOf({ command, python }: Escape): string {
  if (python === undefined) return command;
  return `${command}\npython3 - <<'PROGRAM'\n${PYTHON}${python}\nPROGRAM`;
}

interface Shown {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly isUp: boolean;
}

/** Runs the commands in boxes of a process of its own, as this user or as nobody. */
function runAs(user: 'self' | 'nobody', commands: readonly string[], env: Record<string, string>): Promise<Shown[]> {
  const program = new URL('./run-boxes.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--no-warnings', program], {
    ...(user === 'nobody' ? { uid: NOBODY, gid: NOBODY } : {}),
    env: { ...env, OUTSIDE: 'outside' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin?.end(JSON.stringify(commands));
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(JSON.parse(text)) : reject(new Error(`ended with ${code}`))));
  });
}

/** Each way is tried by all of the users, or by one of them in turn. */
export function checkEscapes(share: Share): void {
  describe('out of a box', { skip }, () => {
    const server = createServer((socket) => socket.destroy());
    const victim = spawn('sleep', ['600'], { stdio: 'ignore' });
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    before(async () => {
      scratch = mkdtempSync(join(tmpdir(), 'ironcraft-escapes-'));
      chmodSync(scratch, 0o1777);
      writeFileSync(HOST_FILE, 'of the machine', { mode: 0o644 });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    });
    after(() => {
      victim.kill();
      server.close();
      rmSync(HOST_FILE, { force: true });
      rmSync(scratch, { recursive: true });
    });

    const users = isRoot ? (['self', 'nobody'] as const) : (['self'] as const);
    for (const [at, user] of users.entries()) {
      const ways = ESCAPES.filter((_, index) => share === 'all' || index % users.length === at);
      test(`none of ${ways.length} ways leads, started by ${user === 'self' ? (isRoot ? 'root' : 'this user') : 'nobody'}`, async () => {
        const address = server.address();
        assert.ok(address !== null && typeof address === 'object');
        const pattern = readFileSync(CORE_PATTERN, 'utf8');
        const name = hostname();
        const variables = `PORT=${address.port}; HOST_PID=${victim.pid}\n`;
        const shown = await runAs(
          user,
          ways.map((way) => variables + commandOf(way)),
          { ...(process.env.PATH === undefined ? {} : { PATH: process.env.PATH }), TMPDIR: scratch },
        );
        const escaped = ways.flatMap(({ name: what }, index) => {
          const { stdout = '', stderr = '', isUp = false } = shown[index] ?? {};
          return isUp && !stdout.includes('ESCAPED') ? [] : [`${what}: ${stdout}${stderr}`];
        });
        assert.deepEqual(escaped, []);
        assert.equal(readFileSync(CORE_PATTERN, 'utf8'), pattern);
        assert.equal(hostname(), name);
        assert.equal(victim.exitCode, null);
        assert.equal(connections, 0);
        assert.ok(existsSync(HOST_FILE));
      });
    }
  });
}
