"""A matmul, 500 squarings, a reduction: longer than any group, and with more
paths from start to end than could be followed one by one."""

kind = "tensor<8x8xf32>"
print(f"func.func @main(%v: {kind}, %w: {kind}) -> tensor<8x1xf32> {{")
print(f"  %0 = pascaline.matmul %v, %w : {kind}, {kind}")
for i in range(500):
    print(f"  %{i + 1} = pascaline.mul %{i}, %{i} : {kind}, {kind}")
print(f"  %y = pascaline.reduce sum %500 {{axes = array<i64: 1>}} : {kind}")
print("  return %y : tensor<8x1xf32>\n}")
