/** Where boxes may have their cgroups, in folders that stand for the kernel's: files are all that it shows of them. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { locateCgroup } from './locate-cgroup.ts';
import { prepareCgroups } from './prepare-cgroups.ts';

const scratch = mkdtempSync(join(tmpdir(), 'ironcraft-cgroups-'));
after(() => rmSync(scratch, { recursive: true }));

let machines = 0;

/** A machine with cgroups mounted at `mount`, and this process in one of them. */
function makeMachine(path: string, { root = '/', version = '0::' } = {}): { proc: string; mount: string } {
  machines += 1;
  const machine = join(scratch, `machine ${machines}`);
  const [proc, mount] = [join(machine, 'proc'), join(machine, 'cgroup')];
  for (const folder of [proc, mount]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(proc, 'cgroup'), `4:memory:/elsewhere\n${version}${path}\n`);
  const shown = mount.replaceAll(' ', '\\040');
  writeFileSync(
    join(proc, 'mountinfo'),
    `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n34 24 0:29 ${root} ${shown} rw,nosuid shared:9 - cgroup2 cgroup2 rw\n`,
  );
  return { proc, mount };
}

function makeCgroup(path: string, controllers = 'cpu memory pids', processes = ''): string {
  mkdirSync(path, { recursive: true });
  const files = { controllers: `${controllers}\n`, procs: processes, subtree_control: '', type: 'domain\n' };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, `cgroup.${name}`), content);
  return path;
}

const reasonOf = (found: ReturnType<typeof locateCgroup>) => ('reason' in found ? found.reason : found);
const baseOf = (found: ReturnType<typeof locateCgroup>) =>
  'reason' in found ? found.reason : [found.base, found.isInBase];

test('the cgroup of a service that it was delegated to is divided', () => {
  const { proc, mount } = makeMachine('/system.slice/ironcraft.service');
  const own = makeCgroup(join(mount, 'system.slice/ironcraft.service'));
  assert.deepEqual(baseOf(locateCgroup('auto', { proc: proc, isRoot: false })), [own, true]);
});

test('the mount may show a part of the tree, as in a container', () => {
  const { proc, mount } = makeMachine('/docker/1/inner', { root: '/docker/1' });
  const inner = makeCgroup(join(mount, 'inner'));
  assert.deepEqual(baseOf(locateCgroup('auto', { proc: proc, isRoot: false })), [inner, true]);
  const { proc: whole, mount: top } = makeMachine('/');
  makeCgroup(top);
  assert.deepEqual(baseOf(locateCgroup('auto', { proc: whole, isRoot: false })), [top, true]);
  const { proc: foreign } = makeMachine('/docker/10', { root: '/docker/1' });
  assert.equal(
    reasonOf(locateCgroup('auto', { proc: foreign, isRoot: false })),
    'this process is in no cgroup of version 2',
  );
});

test('the root of all, which has no type, may keep its processes', () => {
  const { proc, mount } = makeMachine('/');
  rmSync(join(makeCgroup(mount), 'cgroup.type'));
  assert.deepEqual(baseOf(locateCgroup('auto', { proc: proc, isRoot: false })), [mount, false]);
});

test('a service that lies in a part of its cgroup has boxes beside it', () => {
  for (const leaf of ['server', 'ironcraft-server']) {
    const { proc, mount } = makeMachine(`/system.slice/a.service/${leaf}`);
    const unit = makeCgroup(join(mount, 'system.slice/a.service'));
    makeCgroup(join(unit, leaf), '');
    assert.deepEqual(baseOf(locateCgroup('auto', { proc: proc, isRoot: false })), [unit, false]);
  }
});

test('root, who may write to every cgroup, takes one that shows that it was delegated', () => {
  const { proc, mount } = makeMachine('/system.slice/a.service');
  const unit = makeCgroup(join(mount, 'system.slice/a.service'));
  const found = locateCgroup('auto', { proc, isRoot: true });
  assert.equal(reasonOf(found), `nothing says that the cgroup ${unit} was delegated to the server`);
  assert.deepEqual(baseOf(locateCgroup(unit, { proc, isRoot: true })), [unit, true]);
  const { proc: divided, mount: other } = makeMachine('/a.service/server');
  makeCgroup(join(other, 'a.service'));
  assert.deepEqual(baseOf(locateCgroup('auto', { proc: divided, isRoot: true })), [join(other, 'a.service'), false]);
  const { proc: contained, mount: top } = makeMachine('/docker/1', { root: '/docker/1' });
  makeCgroup(top);
  assert.deepEqual(baseOf(locateCgroup('auto', { proc: contained, isRoot: true })), [top, true]);
});

test('a named cgroup is taken, whatever this process is in', () => {
  const { proc, mount } = makeMachine('/', { version: '1:name=systemd:' });
  const named = makeCgroup(join(mount, 'boxes'));
  assert.deepEqual(baseOf(locateCgroup(named, { proc })), [named, false]);
});

test('it is said why there is none, and what to do', () => {
  const { proc: old } = makeMachine('/', { version: '1:name=systemd:' });
  assert.equal(
    reasonOf(locateCgroup('auto', { proc: old, isRoot: false })),
    'this process is in no cgroup of version 2',
  );
  assert.equal(
    reasonOf(locateCgroup('auto', { proc: join(scratch, 'nowhere') })),
    'this process is in no cgroup of version 2',
  );
  const { proc, mount } = makeMachine('/a.service');
  assert.equal(
    reasonOf(locateCgroup('auto', { proc: proc, isRoot: false })),
    `${mount}/a.service is not a cgroup of version 2`,
  );
  const own = makeCgroup(join(mount, 'a.service'), 'cpu pids');
  assert.equal(reasonOf(locateCgroup('auto', { proc: proc, isRoot: false })), `the cgroup ${own} cannot limit memory`);
  makeCgroup(own);
  rmSync(join(own, 'cgroup.subtree_control'));
  const closed = locateCgroup('auto', { proc: proc, isRoot: false });
  assert.equal(reasonOf(closed), `the server may not write to the cgroup ${own}`);
  assert.ok('mend' in closed && /Delegate=yes.*IRONCRAFT_SANDBOX_CGROUP/.test(closed.mend));
  const { proc: session, mount: top } = makeMachine('/user.slice/session-1.scope');
  makeCgroup(join(top, 'user.slice/session-1.scope'));
  assert.match(
    String(reasonOf(locateCgroup('auto', { proc: session, isRoot: false }))),
    /is a session's, not the server's own/,
  );
  assert.match(String(reasonOf(locateCgroup('off', { proc: proc, isRoot: false }))), /is off/);
});

test('the server moves to a leaf before limits are handed down', async () => {
  const { proc, mount } = makeMachine('/a.service');
  const own = makeCgroup(join(mount, 'a.service'), 'memory pids', '71\n');
  makeCgroup(join(own, 'ironcraft-server'));
  const prepared = await prepareCgroups('auto', { proc, isRoot: false });
  assert.ok(!('reason' in prepared), JSON.stringify(prepared));
  assert.equal(readFileSync(join(own, 'ironcraft-server/cgroup.procs'), 'utf8'), '71');
  assert.equal(readFileSync(join(own, 'cgroup.subtree_control'), 'utf8'), '+memory +pids');
});

test('what dead processes have left is removed, and nothing else', async () => {
  const { mount } = makeMachine('/');
  const named = makeCgroup(join(mount, 'boxes'));
  const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
  // Beyond what the kernel numbers processes with.
  const dead = `ironcraft-box-${namespace}-4194305-abcd-1`;
  const earlier = `ironcraft-box-${namespace}-${process.pid}-abcd-1`;
  const living = `ironcraft-box-${namespace}-${process.ppid}-abcd-1`;
  const foreign = 'ironcraft-box-1-4194305-abcd-1';
  for (const name of [dead, earlier, living, foreign, 'other']) {
    for (const leaf of ['supervisor', 'command']) mkdirSync(join(named, name, leaf), { recursive: true });
  }
  assert.ok(!('reason' in (await prepareCgroups(named))));
  const left = readdirSync(named).filter((name) => !name.startsWith('cgroup.'));
  assert.deepEqual(left.sort(), [foreign, living, 'other'].sort());
});
