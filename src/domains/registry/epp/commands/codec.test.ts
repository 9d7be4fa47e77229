/** Client and server share the codec: what the one encodes the other decodes, for every command and answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  commands,
  contactData,
  domainData,
  hostData,
  id,
  maybe,
  name,
  some,
  time,
  token,
} from '../../../../../test/support/epp-arbitraries.ts';
import { examples } from '../../../../../test/support/seed.ts';
import { EppFault } from '../epp-fault.ts';
import { CONTACT, DOMAIN, FEE, FEE_URIS, HOST } from '../namespaces.ts';
import { element, type XmlElement } from '../xml/element.ts';
import { parseXml } from '../xml/parse-xml.ts';
import { writeXml } from '../xml/write-xml.ts';
import { commandElement, type EppCommand, readRequest } from './command.ts';
import { contactDataElement, readContactData } from './contact.ts';
import {
  checkResultsElement,
  domainDataElement,
  pendingActionElement,
  readCheckResults,
  readDomainData,
  readPendingAction,
  readTransfer,
  transferElement,
} from './domain-results.ts';
import { feeAnswersElement, readFeeAnswers } from './fee.ts';
import { formatAmount, parseAmount } from './fee-values.ts';
import { hostDataElement, readHostData } from './host.ts';
import { greetingElement, readGreeting } from './login.ts';
import { changeElement, findChange, readResponse, responseElement, transactionIdElements } from './response.ts';

/** Absent and undefined are the same. */
function plain<Value>(value: Value): unknown {
  return JSON.parse(JSON.stringify(value));
}

function overTheWire(root: XmlElement): XmlElement {
  return parseXml(Buffer.from(writeXml(root)));
}

for (const [of, arbitrary] of Object.entries(commands)) {
  test(`${of} arrives as it was sent`, () => {
    fc.assert(
      fc.property<[EppCommand]>(arbitrary, (command) => {
        const request = readRequest(overTheWire(commandElement(command, 'client-1')));
        assert.equal(request.kind === 'command' && request.clTRID, 'client-1');
        assert.deepEqual(plain(request.kind === 'command' && request.command), plain(command));
      }),
      { numRuns: 40 },
    );
  });
}

/** A copy in which one element, found by the numbers, is gone, empty, renamed, doubled or of another namespace. */
function damage(root: XmlElement, path: readonly number[], how: number): XmlElement {
  const [at = 0, ...rest] = path;
  const { children, uri, local, text, attributes } = root;
  if (children.length === 0 || path.length === 0) {
    const damaged = [
      element(uri, local, text),
      element(uri, local, '', attributes),
      element(uri, `${local}s`, text, attributes),
      element('urn:x', local, text, attributes),
      element(uri, local, [root, root], attributes),
      element(uri, local, '-1', { op: 'x', unit: 'x', type: 'x', s: '' }),
    ];
    return damaged[how % damaged.length] ?? root;
  }
  const index = at % children.length;
  const changed = children.flatMap((child, i) => {
    if (i !== index) return [child];
    return how === 6 && rest.length === 0 ? [] : [damage(child, rest, how)];
  });
  return { ...root, children: changed };
}

test('a damaged command is a command or a fault with a code, and never anything else', () => {
  const any = fc.oneof(...Object.values(commands));
  const paths = fc.array(fc.nat(9), { minLength: 1, maxLength: 7 });
  fc.assert(
    fc.property<[EppCommand, number[], number]>(any, paths, fc.nat(6), (command, path, how) => {
      try {
        readRequest(damage(commandElement(command, 'client-1'), path, how));
      } catch (error) {
        assert.ok(error instanceof EppFault, String(error));
      }
    }),
    { numRuns: examples(500, 5_000) },
  );
});

test('answers about domains, contacts and hosts arrive as they were sent', () => {
  const same = (given: unknown, read: unknown) => assert.deepEqual(plain(read), plain(given));
  fc.assert(fc.property(domainData, (data) => same(data, readDomainData(overTheWire(domainDataElement(data))))));
  fc.assert(fc.property(contactData, (data) => same(data, readContactData(overTheWire(contactDataElement(data))))));
  fc.assert(fc.property(hostData, (data) => same(data, readHostData(overTheWire(hostDataElement(data))))));
  const checks = some(fc.record({ value: name, available: fc.boolean(), reason: maybe(token) }));
  fc.assert(
    fc.property(checks, fc.constantFrom(DOMAIN, HOST, CONTACT), (results, uri) => {
      const key = uri === CONTACT ? 'id' : 'name';
      same(results, readCheckResults(overTheWire(checkResultsElement(uri, key, results)), key));
    }),
  );
});

test('notices of transfers, pending commands and changes arrive as they were sent', () => {
  const transfer = fc.record({
    name,
    status: fc.constant('pending'),
    requestedBy: id,
    requestedAt: time,
    actedBy: id,
    actedAt: time,
    expiresAt: maybe(time),
  });
  fc.assert(
    fc.property(transfer, (data) =>
      assert.deepEqual(plain(readTransfer(overTheWire(transferElement(data)))), plain(data)),
    ),
  );
  const pending = fc.record({ name, succeeded: fc.boolean(), clTRID: maybe(id), svTRID: id, at: time });
  fc.assert(
    fc.property(pending, (data) => {
      const ids = element('', '', transactionIdElements(data.clTRID, data.svTRID));
      assert.deepEqual(plain(readPendingAction(overTheWire(pendingActionElement(data, ids)))), plain(data));
    }),
  );
  const change = {
    operation: 'delete',
    detail: 'purge',
    at: '2026-01-01T00:00:00.000Z',
    svTRID: 'abc',
    who: 'registry',
  };
  assert.deepEqual(findChange([overTheWire(changeElement(change))]), change);
});

test('a greeting and an answer arrive as they were sent', () => {
  const greeting = {
    server: 'Test',
    at: '2026-01-01T00:00:00.000Z',
    versions: ['1.0'],
    languages: ['en', 'de'],
    objectUris: [DOMAIN],
    extensionUris: ['urn:x'],
  };
  assert.deepEqual(readGreeting(overTheWire(greetingElement(greeting))), greeting);
  const response = {
    code: 1301,
    message: 'Command completed successfully; ack to dequeue',
    reason: 'because',
    queue: { count: 2, id: '7', queuedAt: '2026-01-01T00:00:00.000Z', text: 'news <&>' },
    data: element(DOMAIN, 'creData', [element(DOMAIN, 'name', 'a.com')]),
    extensions: [element(HOST, 'x', 'y')],
    clTRID: 'cl-1',
    svTRID: 'sv-1',
  };
  assert.deepEqual(readResponse(overTheWire(responseElement(response))), response);
});

for (const uri of FEE_URIS) {
  test(`what costs something is answered name by name, in cents (${uri})`, () => {
    const price = { years: 2, amountCents: 1_234, currency: 'EUR' } as const;
    // That a price is its own has a word since RFC 8748; the drafts have the class alone.
    const own = uri === FEE ? { isStandard: false } : {};
    const answers = [
      { name: 'a.com', category: 'premium', commands: [{ name: 'create' as const, ...price, ...own }] },
      { name: 'b.com', commands: [{ name: 'restore' as const, currency: 'EUR' }] },
    ];
    assert.deepEqual(readFeeAnswers(overTheWire(feeAnswersElement(uri, 'EUR', answers))), answers);
  });
}

test('amounts are cents', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e12 }), (cents) => assert.equal(parseAmount(formatAmount(cents)), cents)),
  );
  assert.equal(parseAmount('5'), 500);
  assert.equal(parseAmount('5.1'), 510);
  assert.equal(parseAmount('5.1000'), 510);
  for (const text of ['', '-1', '1,5', '1.', '0x1', '1e3', '1.001']) assert.throws(() => parseAmount(text), EppFault);
});

test('a wish to hide lesser data alone says nothing of the person', () => {
  const contactWith = (hidden: string) =>
    readContactData(
      parseXml(
        Buffer.from(
          `<infData xmlns="${CONTACT}"><id>abc</id><roid>R-1</roid><clID>us</clID><disclose flag="0"><${hidden}/></disclose></infData>`,
        ),
      ),
    ).disclose;
  assert.equal(contactWith('fax'), undefined);
  assert.equal(contactWith('email'), false);
});

test('a message is read whatever its queue says of their number', () => {
  for (const attributes of ['id="7"', 'id="7" count="many"', 'id="7" count="99999999999999"']) {
    const { queue } = readResponse(
      parseXml(
        Buffer.from(`<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><result code="1301"><msg>ok</msg></result>
          <msgQ ${attributes}><msg>closed on Sunday</msg></msgQ><trID><svTRID>1</svTRID></trID></response></epp>`),
      ),
    );
    assert.deepEqual([queue?.id, queue?.count, queue?.text], ['7', 1, 'closed on Sunday'], attributes);
  }
});

test('times of other servers are understood: without a zone, with an offset, with many digits', () => {
  const read = (at: string) =>
    readDomainData(
      overTheWire(
        domainDataElement({
          name: 'a.com',
          roid: 'R',
          statuses: [],
          contacts: [],
          subordinateHosts: [],
          sponsor: 's',
          createdAt: at,
        }),
      ),
    ).createdAt;
  assert.equal(read('2026-01-02T03:04:05'), '2026-01-02T03:04:05.000Z');
  assert.equal(read('2026-01-02T03:04:05.0Z'), '2026-01-02T03:04:05.000Z');
  assert.equal(read('2026-01-02T03:04:05.123456+01:00'), '2026-01-02T02:04:05.123Z');
  assert.throws(() => read('2026-13-02T03:04:05Z'), EppFault);
  assert.throws(() => read('yesterday'), EppFault);
});
