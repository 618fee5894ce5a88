/**
 * A few parts of antd (scroll locks, scroll bar measurement) make a `<style>` without passing the nonce on, which the
 * page's content policy then refuses. Every style element this page makes carries it.
 */
export function stampStyles(nonce: string | undefined): void {
  if (!nonce) return;
  const create = document.createElement.bind(document) as (
    name: string,
    options?: ElementCreationOptions,
  ) => HTMLElement;
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const element = create(name, options);
    if (name.toLowerCase() === "style") element.nonce = nonce;
    return element;
  }) as typeof document.createElement;
}
