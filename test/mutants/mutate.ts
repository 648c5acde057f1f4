import { type AnyNode, parse } from 'acorn';

/** A change of one place in the built text of a module, which a test should notice. */
export interface Mutant {
  /** What is changed, such as `comparison`. */
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

type Change = Omit<Mutant, 'start' | 'end'> & Partial<Pick<Mutant, 'start' | 'end'>>;

const swapped: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
};

/** Every mutant of a module. The order is that of the text. */
export function mutantsOf(text: string): Mutant[] {
  const found: Mutant[] = [];
  const tree = parse(text, { ecmaVersion: 'latest', sourceType: 'module' });
  visit(tree, (node) => {
    for (const { kind, start = node.start, end = node.end, replacement } of changesOf(node, text))
      found.push({ kind, start, end, replacement });
  });
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

function changesOf(node: AnyNode, text: string): Change[] {
  const of = (part: { start: number; end: number }): string => text.slice(part.start, part.end);
  switch (node.type) {
    case 'BinaryExpression': {
      const operator = swapped[node.operator];
      // A sum with a text is a sentence. Errors and logs are not rules.
      if (operator === undefined || [node.left, node.right].some(isText)) return [];
      const kind = /[<>=]/.test(node.operator) ? 'comparison' : 'arithmetic';
      return [{ kind, replacement: `${of(node.left)} ${operator} ${of(node.right)}` }];
    }
    case 'LogicalExpression':
      return [
        { kind: 'condition', replacement: of(node.left) },
        { kind: 'condition', replacement: of(node.right) },
      ];
    case 'Literal':
      if (typeof node.value === 'boolean') return [{ kind: 'flag', replacement: String(!node.value) }];
      if (typeof node.value === 'bigint') return [{ kind: 'off by one', replacement: `${node.value + 1n}n` }];
      return typeof node.value === 'number' ? [{ kind: 'off by one', replacement: String(node.value + 1) }] : [];
    case 'IfStatement':
      return [
        { kind: 'guard', start: node.test.start, end: node.test.end, replacement: 'false' },
        { kind: 'guard', start: node.test.start, end: node.test.end, replacement: 'true' },
      ];
    case 'ConditionalExpression':
      return [{ kind: 'branches', replacement: `${of(node.test)} ? ${of(node.alternate)} : ${of(node.consequent)}` }];
    case 'AwaitExpression':
      return [{ kind: 'await', replacement: `(${of(node.argument)})` }];
    case 'ThrowStatement':
      return [{ kind: 'throw', replacement: ';' }];
    case 'CatchClause':
      return [{ kind: 'swallowed error', start: node.body.start, end: node.body.end, replacement: '{ }' }];
    case 'ExpressionStatement':
      return isEffect(node.expression) ? [{ kind: 'statement', replacement: ';' }] : [];
    case 'ObjectExpression':
      return node.properties.flatMap((property, index) => {
        const next = node.properties[index + 1];
        return [{ kind: 'field', start: property.start, end: next?.start ?? property.end, replacement: '' }];
      });
    case 'CallExpression': {
      const { callee } = node;
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return [];
      if (!['sort', 'reverse', 'filter'].includes(callee.property.name)) return [];
      return [{ kind: callee.property.name, replacement: of(callee.object) }];
    }
    default:
      return [];
  }
}

function isText(node: AnyNode): boolean {
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');
}

/** Whether this expression stands alone for what it does. What is logged or counted is no rule. */
function isEffect(expression: AnyNode): boolean {
  if (expression.type === 'AssignmentExpression' || expression.type === 'UpdateExpression') return true;
  if (expression.type === 'AwaitExpression') return isEffect(expression.argument);
  if (expression.type !== 'CallExpression') return false;
  return !namesIn(expression.callee).some((name) => /^(log|logger|telemetry|metrics)$/.test(name));
}

/** The names in a chain of members, such as `lane`, `deps` and `log`. */
function namesIn(node: AnyNode): readonly string[] {
  if (node.type === 'MemberExpression') return [...namesIn(node.object), ...namesIn(node.property)];
  return node.type === 'Identifier' ? [node.name] : [];
}

function visit(node: AnyNode, each: (node: AnyNode) => void): void {
  each(node);
  for (const part of Object.values(node) as unknown[]) {
    for (const one of Array.isArray(part) ? (part as unknown[]) : [part]) if (isNode(one)) visit(one, each);
  }
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
