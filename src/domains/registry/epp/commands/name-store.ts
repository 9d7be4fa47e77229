/** For which of the registries behind one server a command is (Verisign's namestoreExt 1.1), by a product such as `dotCOM`. */
import { NAME_STORE } from '../namespaces.ts';
import { element, findChild, findText, type XmlElement } from '../xml/element.ts';

/** Beside each command about an object, and in its answer. */
export function subProductElement(subProduct: string): XmlElement {
  return element(NAME_STORE, 'namestoreExt', [element(NAME_STORE, 'subProduct', subProduct)]);
}

export function findSubProduct(extensions: readonly XmlElement[]): string | undefined {
  const found = extensions.find(({ uri, local }) => uri === NAME_STORE && local === 'namestoreExt');
  return findText(found, 'subProduct');
}

/** In the answer to a command that names no product, or one that there is not. */
export function subProductErrorElement(message: string): XmlElement {
  return element(NAME_STORE, 'nsExtErrData', [element(NAME_STORE, 'msg', message, { code: '1' })]);
}

export function findSubProductError(extensions: readonly XmlElement[]): string | undefined {
  const found = extensions.find(({ uri, local }) => uri === NAME_STORE && local === 'nsExtErrData');
  const message = found === undefined ? undefined : findChild(found, 'msg')?.text.trim();
  return message === '' ? undefined : message;
}
