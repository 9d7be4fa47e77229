/** AFNIC's trade, by the examples of its technical integration guide (2.5.1, 2.5.2) as Net::DRI's tests keep them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EppFault } from '../epp-fault.ts';
import { frnicUri } from '../namespaces.ts';
import type { XmlElement } from '../xml/element.ts';
import { parseXml } from '../xml/parse-xml.ts';
import { writeXml } from '../xml/write-xml.ts';
import { commandElement, findTransactionId, readRequest } from './command.ts';
import { readResponse } from './response.ts';
import { findTradeData } from './trade.ts';

const EPP = 'urn:ietf:params:xml:ns:epp-1.0';
const FRNIC = 'http://www.afnic.fr/xml/epp/frnic-1.2';
const documentOf = (content: string) => `<?xml version="1.0" encoding="UTF-8"?><epp xmlns="${EPP}">${content}</epp>`;
const parse = (xml: string): XmlElement => parseXml(Buffer.from(xml));

const REQUEST =
  documentOf(`<extension><frnic:ext xmlns:frnic="${FRNIC}"><frnic:command><frnic:trade op="request"><frnic:domain keepDS="0">
  <frnic:name>ndd-de-test-0001.fr</frnic:name><frnic:registrant>PR1249</frnic:registrant><frnic:contact type="admin">VL</frnic:contact>
  <frnic:contact type="tech">AI1</frnic:contact><frnic:contact type="tech">PR1249</frnic:contact></frnic:domain></frnic:trade>
  <frnic:clTRID>ABC-12345</frnic:clTRID></frnic:command></frnic:ext></extension>`);
const command = {
  kind: 'domain:trade',
  operation: 'request',
  uri: FRNIC,
  name: 'ndd-de-test-0001.fr',
  registrant: 'PR1249',
  contacts: [
    { type: 'admin', id: 'VL' },
    { type: 'tech', id: 'AI1' },
    { type: 'tech', id: 'PR1249' },
  ],
  keepsKeys: false,
} as const;

/** Without white space between elements. */
function shapeOf({ attributes, children, local, text, uri }: XmlElement): unknown {
  return children.length > 0
    ? { uri, local, attributes, children: children.map(shapeOf) }
    : { uri, local, attributes, text: text.trim() };
}

test('a request is the one of the guide', () => {
  assert.equal(FRNIC, frnicUri('1.2'));
  assert.deepEqual(shapeOf(parse(writeXml(commandElement(command, 'ABC-12345')))), shapeOf(parse(REQUEST)));
  const read = readRequest(parse(REQUEST));
  assert.deepEqual(read, { kind: 'command', command, clTRID: 'ABC-12345', extensionUris: [FRNIC] });
  assert.equal(findTransactionId(parse(REQUEST)), 'ABC-12345');
});

const TRADE = `<extension><frnic:ext xmlns:frnic="${FRNIC}"><frnic:resData><frnic:trdData><frnic:domain>
  <frnic:name>NDD-de-test-0001.fr</frnic:name><frnic:trStatus>pending</frnic:trStatus><frnic:reID>BEdemandeurID</frnic:reID>
  <frnic:reDate>2009-01-01T00:00:00.0Z</frnic:reDate>HOLDER<frnic:rhDate>2009-01-09T00:00:00.0Z</frnic:rhDate>
  <frnic:acID>BEactuelID</frnic:acID><frnic:acHldID>MM4567</frnic:acHldID><frnic:ahDate>2009-01-09T00:00:00.0Z</frnic:ahDate>
  </frnic:domain></frnic:trdData></frnic:resData></frnic:ext></extension>
  <trID><clTRID>ABC-12345</clTRID><svTRID>54322-XYZ</svTRID></trID>`;
const data = {
  name: 'ndd-de-test-0001.fr',
  status: 'pending',
  requestedBy: 'BEdemandeurID',
  requestedAt: '2009-01-01T00:00:00.000Z',
  nextHolder: 'PR1249',
  nextConsentAt: '2009-01-09T00:00:00.000Z',
  sponsor: 'BEactuelID',
  presentHolder: 'MM4567',
  presentConsentAt: '2009-01-09T00:00:00.000Z',
};

test('an answer, and a message that leaves the next holder out, are understood', () => {
  const holder = '<frnic:reHldID>PR1249</frnic:reHldID>';
  const answer = documentOf(
    `<response><result code="1000"><msg>Command completed successfully</msg></result>${TRADE.replace('HOLDER', holder)}</response>`,
  );
  assert.deepEqual(findTradeData(readResponse(parse(answer)).extensions), data);
  const message = documentOf(
    `<response><result code="1301"><msg>Command completed successfully; ack to dequeue</msg></result><msgQ count="1" id="50010">
      <qDate>2009-12-25T00:02:00.0Z</qDate><msg>Trade requested.</msg></msgQ>${TRADE.replace('HOLDER', '')}</response>`,
  );
  assert.deepEqual(findTradeData(readResponse(parse(message)).extensions), { ...data, nextHolder: undefined });
});

test('what is no trade is refused with the code that says why', () => {
  const wrong: [content: string, code: number][] = [
    [REQUEST.replaceAll('frnic-1.2', 'frnic-9.9'), 2103],
    [REQUEST.replaceAll('frnic:trade', 'frnic:recover'), 2101],
    [REQUEST.replace('op="request"', 'op="cancel"'), 2102],
    [REQUEST.replace(' keepDS="0"', ''), 2005],
    [REQUEST.replace('<frnic:registrant>PR1249</frnic:registrant>', ''), 2003],
    [REQUEST.replace('type="admin"', 'type="owner"'), 2005],
  ];
  for (const [xml, code] of wrong) {
    assert.throws(
      () => readRequest(parse(xml)),
      (error) => error instanceof EppFault && error.code === code,
      `${code}: ${xml}`,
    );
  }
});
